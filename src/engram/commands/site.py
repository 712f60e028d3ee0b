"""`engram site`: the pages of all studies in a folder as one site."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from engram.commands.options import parse
from engram.commands.screen import Console
from engram.errors import InvalidInputError
from engram.files.disk import is_file
from engram.lab.pages.results_site import FILM, Site
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES


@dataclass(frozen=True)
class Options:
    """Write a site of all studies in a folder: their pages, what they found, and the verdicts on the paper's claims."""

    results: Positional[Path]  # a folder that holds a folder for each study, as runs/ or results/ do
    out: Path = Path("site")  # where to write it; replaced as a whole if it is a site already
    film: Path | None = None  # a GIF for the first page; by default memory.gif there, or in docs/ beside the results
    url: str = ""  # where it will be published, such as https://example.org/engram: pictures in links need it

    def find_film(self) -> Path | None:
        """The film that was given, or the first that lies where films are kept."""
        if self.film is not None:
            if not is_file(self.film):
                raise InvalidInputError(f"there is no file {self.film}; give a GIF with --film, or leave it out")
            return self.film
        usual = (self.results / FILM, self.results.absolute().parent / "docs" / FILM)
        return next((path for path in usual if is_file(path)), None)


def site(words: Sequence[str], console: Console) -> None:
    """Carry out `engram site`."""
    options = parse(Options, prog="engram site", words=words)
    made = Site(options.results, STUDIES, CLAIMS, options.find_film(), options.url)
    path = made.write(options.out, lambda line: console.print(line, style="dim"))
    console.print(f"the site is {path}; it needs no server, and its pages no network")
