"""A site of all studies in a folder: a page for each, and a first page that leads to them."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, unquote

from PIL import Image

from engram.envs.names import short_name
from engram.errors import InvalidInputError, RunFolderError
from engram.files.disk import is_file, is_folder, list_files, read_file, read_json, storage_errors, write_atomically
from engram.lab.evidence import Evidence
from engram.lab.grid import Study
from engram.lab.pages.claims_table import Scoreboard, Shares
from engram.lab.pages.finding import read_finding
from engram.lab.pages.landing_page import MOST_FINDINGS, FilmFile, Source, Visit, landing_page
from engram.lab.pages.page import Block, Finding, Text
from engram.lab.pages.site_frame import Frame, Link
from engram.lab.pages.social_card import social_card
from engram.lab.pages.wording import seeds_in_words
from engram.lab.reports import Report, find_report
from engram.lab.study_folder import StudyFolder
from engram.lab.verdicts import ClaimList
from engram.pictures.video import caption_of

TITLE = "What a small memory should keep: studies of episodic control"
README = "README.md"  # of the folder of results
HOME, CARD, FILM, STILL, LISTING = "index.html", "card.png", "memory.gif", "memory.png", "site.json"
FILM_CAPTION = "What memories hold while their agents learn."  # of a film that carries none
STILL_COLOURS = 128
DATA = (".csv", ".parquet", ".json", ".jsonl")


@dataclass(frozen=True)
class Site:
    """What a site is made from."""

    results: Path  # holds a folder for each study
    studies: Mapping[str, Study]  # that are known by name
    claims: ClaimList
    film: Path | None = None  # a GIF
    url: str = ""  # where it will be published; empty: not known

    @cached_property
    def folders(self) -> list[Path]:
        """The folders of studies: first those that README.md there links to, in that order, then the others by name."""
        if not is_folder(self.results):
            raise RunFolderError(f"there is no folder {self.results}; name the one that holds your studies' folders")
        if is_file(self.results / "study.json"):
            raise RunFolderError(
                f"{self.results} is a study itself; name the folder that it lies in: engram site "
                f"{self.results.absolute().parent}"
            )
        found = [path for path in list_files(self.results, "*") if path.is_dir() and is_file(path / "study.json")]
        if not found:
            raise RunFolderError(
                f"{self.results} holds no studies: none of its folders has a study.json; run one: engram study "
                f"cartpole --quick --out {self.results / 'cartpole'}"
            )
        told = read_file(self.results / README).decode(errors="replace") if is_file(self.results / README) else ""
        return sorted(found, key=lambda path: told.find(link) if (link := f"]({path.name}/") in told else len(told))

    def write(self, out: Path, tell: Callable[[str], None]) -> Path:
        """Write all pages to a folder; return the path of the first.

        The folder is replaced as a whole, at the end, so that one that cannot be finished leaves the last one as it
        was. A folder with files that no site has written is refused.
        """
        check_is_site(out)
        scores = self.scoreboard()
        with _replaced(out) as folder:
            film = self._film(folder)
            reports = {path: find_report(path, folder / path.name, self.studies) for path in self.folders}
            visits = []
            for number, (path, report) in enumerate(reports.items(), start=1):
                tell(f"{number} of {len(reports)}: {path.name}")
                visits.append(self._visit(path, report))
            self._write_first_page(folder, out, visits, scores, film)
            self._frame(folder, visits, _description(visits, scores))
            files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
            write_atomically(folder / LISTING, json.dumps({"files": files}, indent=1).encode())
        return out / HOME

    def scoreboard(self) -> Scoreboard | None:
        """The verdicts on the claims, if any study here is about them; it reads all of those studies."""
        reports = [find_report(path, path, self.studies) for path in self._deciding]
        evidence = sum((report.evidence for report in reports), Evidence())
        return Scoreboard.of(self.claims, evidence) if reports else None

    @property
    def _deciding(self) -> list[Path]:
        """The folders of studies from which claims are decided."""
        wanted = {name for claim in self.claims.claims for name in claim.studies}
        return [path for path in self.folders if StudyFolder(path).name in wanted]

    def name_of(self, path: Path) -> str:
        """What links to a study are called: its environment, if it has only one, or the name of its folder."""
        study = self.studies.get(path.name)
        if study is not None and len(study.envs) == 1:
            return short_name(study.envs[0])
        return path.name.replace("-", " ").replace("_", " ").capitalize()

    def _visit(self, path: Path, report: Report) -> Visit:
        """Write a study's page, and read what it leads with."""
        written = report.write()
        name, title = path.name, re.search(r"<title>(.*?)</title>", read_file(written).decode())
        files = [each.name for each in list_files(written.parent, "*") if each.suffix in DATA]
        return Visit(
            self.name_of(path),
            f"{quote(name)}/{written.name}",
            unescape(title[1]) if title else name,
            read_finding(written),
            read_finding(written, short=True),
            seeds_in_words(report.evidence.seed_counts),
            {each: f"{quote(name)}/{quote(each)}" for each in files},
        )

    def _write_first_page(
        self, folder: Path, out: Path, visits: Sequence[Visit], scores: Scoreboard | None, film: FilmFile | None
    ) -> None:
        page = landing_page(
            TITLE,
            [Finding(scores.sentence("claims of the paper")), Shares(scores.counts), *self._about()] if scores else [],
            visits,
            claims=scores.details if scores else (),
            film=film,
            commands=self._commands(out),
        )
        write_atomically(folder / HOME, page.html().encode())
        findings = [each.short for each in visits if each.short]
        card = social_card(TITLE, scores.counts if scores else {}, scores.parts if scores else (), findings)
        write_atomically(folder / CARD, card)

    def _about(self) -> list[Block]:
        """What the studies are about, and what the words on the pages mean."""
        about = Source("Claims and published numbers are those of", self.claims.source, self.claims.address)
        return [about, Text(self.claims.about)] if self.claims.source else []

    def _commands(self, out: Path) -> dict[str, str]:
        known, deciding = [path.name for path in self.folders if path.name in self.studies], self._deciding
        commands = {
            **({"a study": ["study", known[0]]} if known else {}),
            "its page": ["report", self.folders[0]],
            **({"the verdicts": ["claims", *deciding]} if deciding else {}),
            "this site": ["site", self.results, "--out", out],
        }
        return {what: shlex.join(["engram", *map(str, words)]) for what, words in commands.items()}

    def _film(self, folder: Path) -> FilmFile | None:
        """The film as a file of the site, and a picture of its end."""
        if self.film is None:
            return None
        data = read_file(self.film)
        try:
            with Image.open(BytesIO(data), formats=["GIF"]) as film:
                caption, (width, height) = caption_of(film) or FILM_CAPTION, film.size
                film.seek(getattr(film, "n_frames", 1) - 1)
                buffer = BytesIO()
                film.convert("RGB").quantize(STILL_COLOURS).save(buffer, "PNG", optimize=True)
        except OSError as error:
            raise InvalidInputError(
                f"{self.film} is not a film that can be read; give a GIF, such as {FILM}"
            ) from error
        write_atomically(folder / FILM, data)
        write_atomically(folder / STILL, buffer.getvalue())
        return FilmFile(FILM, STILL, width, height, len(data), caption)

    def _frame(self, folder: Path, visits: Sequence[Visit], description: str) -> None:
        """Put the navigation and what other sites show around every page."""
        home = Link("Engram: results", HOME)
        links = {home: description, **{Link(each.name, each.address): each.finding for each in visits}}
        url = f"{self.url.rstrip('/')}/" if self.url else ""
        frame = Frame(list(links), CARD, url)
        titles = {each.address: each.title for each in visits}
        for link, finding in links.items():
            path, title = folder / unquote(link.address), titles.get(link.address, TITLE)
            html = read_file(path).decode()
            framed = frame.around(html, link, title=title, description=finding or title)
            write_atomically(path, framed.encode())


def _description(visits: Sequence[Visit], scores: Scoreboard | None) -> str:
    """What other sites say of the first page: how the claims came out, and the first findings."""
    claims = [scores.sentence("claims of the paper")] if scores else []
    return " ".join([*claims, *[each.short for each in visits if each.short][:MOST_FINDINGS]])


def check_is_site(out: Path) -> None:
    """Raise InvalidInputError if a folder holds files that no site has written, which would be lost."""
    if not is_folder(out):
        return
    try:
        known = set(read_json(out / LISTING)["files"]) | {LISTING} if is_file(out / LISTING) else set()
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"cannot read {out / LISTING}: {error!r}; it lists the site's files, so move {out} elsewhere or choose "
            "another folder with --out"
        ) from error
    with storage_errors("read", out):
        there = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if not path.is_dir())
    foreign = [name for name in there if name not in known]
    if foreign:
        more = f" and {len(foreign) - 3} more" if len(foreign) > 3 else ""
        raise InvalidInputError(
            f"{out} holds files that are not a site's ({', '.join(foreign[:3])}{more}), and would be replaced as a "
            "whole; choose another folder with --out, or move them elsewhere"
        )


@contextmanager
def _replaced(out: Path) -> Iterator[Path]:
    """A new folder, which takes the place of another at the end."""
    folder = out.absolute().with_name(f".{out.absolute().name}.{os.getpid()}.part")
    with storage_errors("write", out):
        folder.mkdir(parents=True)
    try:
        yield folder
        with storage_errors("write", out):
            if is_folder(out):
                shutil.rmtree(out)
            folder.rename(out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
