"""The first page of a site of results: what was found, how the claims came out, and where everything lies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from engram.lab.pages.page import Block, Commands, Page, Section, Text, text_html

MOST_FINDINGS = 3


@dataclass(frozen=True)
class Visit:
    """A study as the first page shows it."""

    name: str
    address: str  # of its page
    title: str
    finding: str = ""  # in a sentence; empty for a page that leads with none
    short: str = ""  # the same in a line
    seeds: str = ""  # how many runs a cell has; empty for a study that is not made of runs
    files: Mapping[str, str] = field(default_factory=dict)  # of its data: name → address


@dataclass(frozen=True)
class Cards:
    """Studies side by side, each with what it found and its data; on a phone one below the other."""

    visits: Sequence[Visit]

    def html(self) -> str:
        """A list, which needs no more than a list's markup to be read aloud."""
        return f'<ul class="cards">{"".join(map(_card, self.visits))}</ul>'


@dataclass(frozen=True)
class Findings:
    """The first findings, each with the page on which it is shown."""

    visits: Sequence[Visit]

    def html(self) -> str:
        """A numbered list in large print."""
        return f'<ol class="finding">{"".join(map(_item, self.visits))}</ol>'


@dataclass(frozen=True)
class Source:
    """What the studies are about: where its claims were made, with a link."""

    text: str
    source: str
    address: str

    def html(self) -> str:
        """A paragraph."""
        link = f'<a href="{escape(self.address)}">{escape(self.source)}</a>'
        return f"<p>{text_html(self.text)} {link}.</p>"


@dataclass(frozen=True)
class FilmFile:
    """A film beside the page, which is loaded and plays when a reader asks for it; until then, a picture of its end."""

    file: str
    still: str
    width: int  # pixels
    height: int
    size: int  # of the file, in bytes
    caption: str

    def html(self) -> str:
        """The picture as a link to the film; where scripts run, the film takes its place."""
        size = f'width="{self.width}" height="{self.height}"'
        image = f'<img src="{escape(self.still)}" alt="{escape(self.caption)}" {size} loading="lazy">'
        told = f"<span>\N{BLACK RIGHT-POINTING TRIANGLE} play the film ({self.size / 1e6:.1f} MB)</span>"
        link = f'<a class="film" href="{escape(self.file)}">{image}{told}</a>'
        return f"<figure>{link}<figcaption>{text_html(self.caption)}</figcaption></figure>"


def landing_page(
    title: str,
    lead: Sequence[Block],
    visits: Sequence[Visit],
    *,
    claims: Sequence[Block] = (),
    film: FilmFile | None = None,
    commands: Mapping[str, str],
) -> Page:
    """The page from top to bottom."""
    found = [each for each in visits if each.finding][:MOST_FINDINGS]
    parts: dict[str, Sequence[Block]] = {
        "What was found": [Findings(found)] if found else [],
        "A memory at work": [film] if film else [],
        "The paper's claims": claims,
        "Studies and their data": [
            Cards(visits),
            Text(
                "scores.csv has a line for each cell of the tables; evaluations.parquet and .csv every evaluation of "
                "every run; study.json the runs; calls.jsonl the commands, with machine and versions.",
                note=True,
            ),
        ],
        "Make it again": [Commands(commands)],
    }
    sections = [Section(name, blocks) for name, blocks in parts.items() if blocks]
    return Page(title, [*lead, *sections])


def _item(visit: Visit) -> str:
    link = f'<a href="{escape(visit.address)}">{escape(visit.name)}</a>'
    seeds = f" ({text_html(visit.seeds)})" if visit.seeds else ""
    return f"<li>{text_html(visit.short or visit.finding)} {link}{seeds}</li>"


def _card(visit: Visit) -> str:
    files = ", ".join(f'<a href="{escape(address)}">{escape(name)}</a>' for name, address in visit.files.items())
    finding = f"<p>{text_html(visit.finding)}</p>" if visit.finding else ""
    about = "; ".join(part for part in (text_html(visit.seeds), files) if part)
    data = f'<p class="note">{about}</p>' if about else ""
    head = f'<h3><a href="{escape(visit.address)}">{escape(visit.name)}</a></h3>'
    return f"<li>{head}<p>{text_html(visit.title)}</p>{finding}{data}</li>"
