"""A report as one HTML file that needs nothing else: no network and, to be read, no script, in light and in dark."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import PurePath
from typing import Protocol, Self

from engram.lab.pages.inline_svg import inlined
from engram.pictures.marks import Key

SHAPES = {  # of dots in legends, by their name in matplotlib
    "o": '<circle cx="13" cy="4" r="3" {}/>',
    "s": '<rect x="10.2" y="1.2" width="5.6" height="5.6" {}/>',
    "D": '<path d="M13 .4 16.6 4 13 7.6 9.4 4z" {}/>',
}
PHONE_COLUMNS = 4  # of a table of numbers, that a phone shows
ABOUT = "engram:about"  # name of the line in which a page says what it is about


class Block(Protocol):
    """A part of a page."""

    def html(self) -> str:
        """The block as HTML."""


class Ornament:
    """A block that shows again what is said beside it; Markdown leaves it out."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    note: bool = False  # in small print

    def html(self) -> str:
        """A paragraph."""
        kind = ' class="note"' if self.note else ""
        return f"<p{kind}>{text_html(self.text)}</p>"


@dataclass(frozen=True)
class Finding:
    """What came out, in a plain sentence: the first thing on a page."""

    text: str
    short: str = ""  # the same for a picture or a list, which have room for a line; empty: the text itself

    def html(self) -> str:
        """A paragraph in large print."""
        short = f' data-short="{escape(self.short)}"' if self.short else ""
        return f'<p class="finding"{short}>{text_html(self.text)}</p>'


@dataclass(frozen=True)
class Names:
    """A list of names; no name is broken between two lines."""

    names: Sequence[str]

    def html(self) -> str:
        """The names, separated by commas."""
        return f'<p class="note"><code>{", ".join(f"<span>{escape(name)}</span>" for name in self.names)}</code></p>'


@dataclass(frozen=True)
class Warnings:
    """Warnings at the top of a page."""

    texts: Sequence[str]

    def html(self) -> str:
        """A highlighted list."""
        return f'<ul class="warning">{"".join(f"<li>{text_html(text)}</li>" for text in self.texts)}</ul>'


@dataclass(frozen=True)
class Drawing:
    """A figure and its caption."""

    svgs: list[str]  # one, or its columns, which stand below one another where the screen is narrow
    caption: str
    file: str = ""  # the path of the figure as a file, relative to the page
    alt: str = ""  # what is to be seen in it, for those who do not see it; by default its caption
    legend: Sequence[Key] = ()  # above the figure; a reader can switch each on and off
    about: str = ""  # an agent, which a reader can switch off with all that is about it

    def html(self) -> str:
        """The drawing inside the page; where the screen is much narrower, it is scrolled and not shrunk."""
        keys = "".join(
            f'<li data-key="{escape(key.name)}">{_sample(key)}{escape(key.name)}</li>' for key in self.legend
        )
        legend = f'<ul class="legend">{keys}</ul>\n' if keys else ""
        drawn = "".join(map(inlined, self.svgs))
        told = escape(self.alt or self.caption)
        drawing = scrolled(f'<div class="columns" role="img" aria-label="{told}">{drawn}</div>', "figure")
        caption = f"<figcaption>{text_html(self.caption)}</figcaption>"
        return f"<figure{_about(self.about)}>\n{legend}{drawing}\n{caption}\n</figure>"


@dataclass(frozen=True)
class Entry:
    """A cell of a table with more than plain text."""

    text: str
    below: Sequence[str] = ()  # further lines, smaller
    bold: bool = False
    dim: bool = False
    hint: str = ""  # shown when it is pointed at
    mark: str = ""  # beside the text, where it does not move it
    kind: str = ""  # how it looks: a class of the style sheet
    link: str = ""  # where the text leads
    blocks: Sequence[Block] = ()  # below the text; Markdown leaves them out

    def html(self, label: str = "", *, head: bool = False) -> str:
        """The cell, or the head of a row; its label is shown before it on screens too narrow for a header."""
        text = f"<b>{text_html(self.text)}</b>" if self.bold else text_html(self.text)
        text = f'<a href="{escape(self.link)}">{text}</a>' if self.link else text
        mark = f'<span class="mark">{escape(self.mark)}</span>' if self.mark else ""
        below = "".join(f"<small>{text_html(line)}</small>" for line in self.below)
        blocks = "".join(block.html() for block in self.blocks)
        kinds = " ".join([*([self.kind] if self.kind else []), *(["dim"] if self.dim else [])])
        attributes = {"class": kinds, "title": self.hint, "data-label": label}
        given = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value)
        tag, scope = ("th", ' scope="row"') if head else ("td", "")
        return f"<{tag}{scope}{given}>{text}{mark}{below}{blocks}</{tag}>"


@dataclass(frozen=True)
class Table:
    """Rows under a header; `colours` gives rows a dot of the colour that they have in the figure."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Entry]]
    caption: str = ""
    colours: Sequence[str] = ()
    note: str = ""
    prose: bool = False  # cells hold sentences
    about: str = ""  # an agent, which a reader can switch off with all that is about it
    groups: Mapping[int, str] = field(default_factory=dict)  # number of a row → what is said above it and those below

    def html(self) -> str:
        """A table that can be scrolled where it is wider than the page; on a phone, a wide one becomes cards."""
        header = "".join(f'<th scope="col">{text_html(name)}</th>' if name else "<td></td>" for name in self.header)
        bodies, rows = [], list[str]()
        for i in range(len(self.rows)):
            if i in self.groups:
                bodies.append(rows)
                rows = [self._group(self.groups[i])]
            rows.append(self._row(i))
        lines = ("\n".join(each) for each in [*bodies, rows] if each)
        inside = "\n".join(f"<tbody>\n{each}\n</tbody>" for each in lines)
        marked = any(isinstance(cell, Entry) and cell.mark for row in self.rows for cell in row)
        kinds = {"prose": self.prose, "cards": self._cards, "marked": marked}
        caption = f"<caption>{text_html(self.caption)}</caption>" if self.caption else ""
        body = f"{caption}<thead><tr>{header}</tr></thead>\n{inside}"
        note = f'<p class="note">{text_html(self.note)}</p>' if self.note else ""
        table = scrolled(
            f"<table>{body}</table>",
            self.caption or "table",
            "".join(f" {kind}" for kind, applies in kinds.items() if applies),
        )
        return f"<div{_about(self.about)}>{table}\n{note}</div>" if self.about else f"{table}\n{note}"

    def without(self, blank: str) -> Self:
        """The table without the columns in which every cell says no more than `blank`."""
        texts = [[cell.text if isinstance(cell, Entry) else cell for cell in row] for row in self.rows]
        kept = [i for i in range(len(self.header)) if i == 0 or any(row[i] != blank for row in texts)]
        rows = [[row[i] for i in kept] for row in self.rows]
        return replace(self, header=[self.header[i] for i in kept], rows=rows)

    @property
    def _cards(self) -> bool:
        """Whether each row becomes a card on a phone, which shows few columns."""
        return not self.prose and len(self.header) > PHONE_COLUMNS

    def _group(self, title: str) -> str:
        head = f'<th scope="rowgroup" colspan="{len(self.header)}"><span>{text_html(title)}</span></th>'
        return f'<tr class="group">{head}</tr>'

    def _row(self, number: int) -> str:
        key = f'<span class="key" style="background: {self.colours[number]}"></span>' if self.colours else ""
        cells = [cell if isinstance(cell, Entry) else Entry(cell) for cell in self.rows[number]]
        labels = self.header if self.prose or self._cards else [""] * len(cells)
        pairs = enumerate(zip(cells, labels, strict=True))
        html = "".join(cell.html(label, head=place == 0) for place, (cell, label) in pairs)
        return f"<tr>{html.replace('>', f'>{key}', 1)}</tr>"


@dataclass(frozen=True)
class Folded:
    """Blocks that are hidden until a reader opens them."""

    title: str
    blocks: Sequence[Block]

    def html(self) -> str:
        """The blocks, which a click on the title opens."""
        inside = "\n".join(block.html() for block in self.blocks)
        return f"<details><summary>{escape(self.title)}</summary>\n{inside}\n</details>"


@dataclass(frozen=True)
class Facts:
    """A list of facts: name → values."""

    facts: Mapping[str, Sequence[str]]
    commands: Sequence[str] = ()  # to make it again

    def html(self) -> str:
        """A list of definitions."""
        commands = "".join(f"<dd><code>{_words(command)}</code></dd>" for command in self.commands)
        facts = "".join(
            f"<dt>{escape(name)}</dt>{''.join(f'<dd>{escape(text)}</dd>' for text in texts)}"
            for name, texts in self.facts.items()
        )
        return f"<dl>{f'<dt>Command</dt>{commands}' if commands else ''}{facts}</dl>"


@dataclass(frozen=True)
class Commands:
    """Commands to type, by what they are for."""

    commands: Mapping[str, str]

    def html(self) -> str:
        """A list of definitions."""
        return "<dl>{}</dl>".format(
            "".join(
                f"<dt>{escape(what)}</dt><dd><code>{_words(how)}</code></dd>" for what, how in self.commands.items()
            )
        )


@dataclass(frozen=True)
class Film:
    """A film that is part of the page."""

    data: str  # in base64
    suffix: str  # .gif or .mp4
    file: str  # its path, relative to the page

    def html(self) -> str:
        """The film, which a .gif shows by itself and an .mp4 when it is started."""
        name = escape(PurePath(self.file).name)
        if self.suffix == ".gif":
            shown = f'<img alt="{name}" src="data:image/gif;base64,{self.data}">'
        else:
            shown = f'<video controls src="data:video/mp4;base64,{self.data}"></video>'
        return f"<figure>{shown}\n<figcaption>{name}</figcaption>\n</figure>"


@dataclass(frozen=True)
class Section:
    """A part of the page with a title."""

    title: str
    blocks: Sequence[Block]

    def html(self) -> str:
        """The heading and its blocks."""
        inside = "\n".join(block.html() for block in self.blocks)
        return f'<section id="{anchor(self.title)}">\n<h2>{escape(self.title)}</h2>\n{inside}\n</section>'


@dataclass(frozen=True)
class Subsection:
    """A part of a section with a title."""

    title: str
    blocks: Sequence[Block]

    def html(self) -> str:
        """The heading and its blocks."""
        inside = "\n".join(block.html() for block in self.blocks)
        return f"<h3>{escape(self.title)}</h3>\n{inside}"


@dataclass(frozen=True)
class Page:
    """A whole page: its title and its blocks from top to bottom."""

    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    about: str = ""  # by which the page is known when it is to be written again

    def html(self) -> str:
        """The whole file."""
        about = f'\n<meta name="{ABOUT}" content="{escape(self.about)}">' if self.about else ""
        blocks = "\n".join(block.html() for block in self.blocks)
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">{about}
<link rel="icon" href="data:,">
<title>{escape(self.title)}</title>
<style>
{_part("page.css")}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<main id="content">
<h1>{escape(self.title)}</h1>
{blocks}
</main>
<script>
{_part("page.js")}</script>
</body>
</html>
"""


def anchor(title: str) -> str:
    """The name by which a link leads to a section."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def scrolled(html: str, name: str, kinds: str = "") -> str:
    """What may be wider than the screen, in an area that is scrolled, with the keyboard too."""
    return f'<div class="wide{kinds}" tabindex="0" role="group" aria-label="{escape(name)}">{html}</div>'


def text_html(text: str) -> str:
    """Text as HTML: a minus, not a hyphen, before numbers, and no line break before a percent sign."""
    return re.sub(r"(?<![\w-])-(?=[0-9]|inf)", "−", escape(text)).replace(" %", "\N{NO-BREAK SPACE}%")


@cache
def _part(name: str) -> str:
    """A file of this package that becomes part of every page."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _about(name: str) -> str:
    return f' data-series="{escape(name)}"' if name else ""


def _sample(key: Key) -> str:
    """A short piece of the series as the figure draws it: a line, dots or an area."""
    if key.kind == "dots":
        look = f'fill="none" stroke="{key.colour}" stroke-width="1.3"' if key.hollow else f'fill="{key.colour}"'
        drawn = SHAPES[key.marker].format(look)
    elif key.kind == "area":
        drawn = f'<rect width="26" height="8" fill="{key.colour}" opacity="{key.opacity:g}"/>'
    else:
        dashes = f' stroke-dasharray="{key.dashes}"' if key.dashes else ""
        drawn = f'<line x1="0" y1="4" x2="26" y2="4" stroke="{key.colour}" stroke-width="2.5"{dashes}/>'
    return f'<svg class="key" viewBox="0 0 26 8" aria-hidden="true">{drawn}</svg>'


def _words(command: str) -> str:
    """A command as HTML; lines are broken between its words only, not at hyphens."""
    return " ".join(f"<span>{escape(word)}</span>" for word in command.split(" "))
