"""A report as one HTML file that needs nothing else: no network and no script, in light and in dark."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import PurePath
from typing import Protocol

from engram.pictures.colours import INK

ABOUT = "engram:about"  # name of the line in which a page says what it is about
CSS = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --paper: #fff; --tint: #f3f5f7; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --soft: #9aa4af; --line: #3a424b; --paper: #15181c; --tint: #1f242a; }
  figure svg, .key { filter: brightness(1.25); }
}
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 66rem; font: 1rem/1.55 system-ui, sans-serif;
  background: var(--paper); color: var(--ink); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0 1rem; text-wrap: balance; }
h2 { font-size: 1.2rem; margin: 2.6rem 0 0.6rem; }
p, figcaption, dl, summary { max-width: 46rem; }
figure { margin: 1.5rem 0; }
figure svg { display: block; width: 100%; height: auto; color: var(--ink);
  min-width: calc(0.75 * var(--width)); max-width: var(--width); }
figure img, figure video { display: block; max-width: 100%; }
figure [hidden] { display: none; }
figcaption, .note, caption { color: var(--soft); font-size: 0.9rem; }
.wide { position: relative; overflow-x: auto; margin: 0.8rem 0; }
figure .wide { margin: 0 0 0.4rem; }
table { border-spacing: 0; line-height: 1.5rem; font-variant-numeric: tabular-nums; }
caption { caption-side: top; text-align: left; padding-bottom: 0.4rem; font-weight: 600; color: var(--ink);
  max-width: calc(100vw - 2rem); }
th, td { padding: 0.375rem 0.7rem; text-align: right; white-space: nowrap; vertical-align: top; }
th:first-child, td:first-child { text-align: left; padding-left: 0; position: sticky; left: 0;
  background: var(--paper); }
.marked td, .marked th { padding-right: 1.7rem; }
.mark { position: absolute; margin-left: 0.25rem; font-size: 0.85em; }
.prose td, .prose th { text-align: left; white-space: normal; min-width: 4rem; }
.prose td:first-child, .prose th:first-child { white-space: nowrap; min-width: 0; }
.prose b { white-space: nowrap; }
thead th { border-bottom: 1.5px solid var(--ink); font-weight: 600; vertical-align: bottom; white-space: normal; }
thead th:first-child { min-width: 4.5rem; }
td { border-bottom: 1px solid var(--line); }
td small { display: block; color: var(--soft); font-size: 0.8rem; line-height: 1.25rem; white-space: nowrap; }
td.dim { color: var(--soft); }
.key { display: inline-block; width: 0.7rem; height: 0.7rem; border-radius: 50%; margin-right: 0.5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1.2rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; grid-column: 2; }
code { font: 0.9em ui-monospace, monospace; }
code span { display: inline-block; max-width: 100%; overflow-wrap: anywhere; }
details { margin: 0.8rem 0; }
summary { cursor: pointer; color: var(--soft); }
@media (min-width: 68rem) {  /* a wide table may go beyond the text, to the window's edge */
  .wide:has(> table) { width: max-content; min-width: 100%; max-width: calc(50vw + 31rem); }
}
ul.warning { background: var(--tint); border-left: 3px solid #D55E00; padding: 0.6rem 1rem 0.6rem 2rem; }
@media (max-width: 32rem) {
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: 0.6rem; grid-column: 1; }
  table { font-size: 0.85rem; line-height: 1.25rem; }
  th, td { padding: 0.375rem 0.4rem; }
  .marked td, .marked th { padding-right: 1.5rem; }
  .prose thead { display: none; }
  .prose tbody, .prose tr, .prose td, .prose td:first-child { display: block; white-space: normal; }
  .prose td { padding: 0; border: 0; }
  .prose tr { padding: 0.5rem 0; border-bottom: 1px solid var(--line); }
  .prose td:first-child:not([data-label]) { float: left; margin-right: 0.6rem; }
  .prose td[data-label]::before { content: attr(data-label) ": "; color: var(--soft); }
}
"""


class Block(Protocol):
    """A part of a page."""

    def html(self) -> str:
        """The block as HTML."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    note: bool = False  # in small print

    def html(self) -> str:
        """A paragraph."""
        kind = ' class="note"' if self.note else ""
        return f"<p{kind}>{_text(self.text)}</p>"


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
        return f'<ul class="warning">{"".join(f"<li>{_text(text)}</li>" for text in self.texts)}</ul>'


@dataclass(frozen=True)
class Drawing:
    """A figure and its caption."""

    svg: str
    caption: str
    file: str = ""  # the path of the figure as a file, relative to the page

    def html(self) -> str:
        """The drawing inside the page; where the screen is much narrower, it is scrolled and not shrunk."""
        drawing = f'<div class="wide">{_inline(self.svg, self.caption)}</div>'
        return f"<figure>\n{drawing}\n<figcaption>{_text(self.caption)}</figcaption>\n</figure>"


@dataclass(frozen=True)
class Entry:
    """A cell of a table with more than plain text."""

    text: str
    below: Sequence[str] = ()  # further lines, smaller
    bold: bool = False
    dim: bool = False
    hint: str = ""  # shown when it is pointed at
    mark: str = ""  # beside the text, where it does not move it

    def html(self, label: str = "") -> str:
        """The cell; its label is shown before it on screens too narrow for a header."""
        text = f"<b>{_text(self.text)}</b>" if self.bold else _text(self.text)
        mark = f'<span class="mark">{escape(self.mark)}</span>' if self.mark else ""
        below = "".join(f"<small>{_text(line)}</small>" for line in self.below)
        kind = ' class="dim"' if self.dim else ""
        hint = f' title="{escape(self.hint)}"' if self.hint else ""
        label = f' data-label="{escape(label)}"' if label else ""
        return f"<td{kind}{hint}{label}>{text}{mark}{below}</td>"


@dataclass(frozen=True)
class Table:
    """Rows under a header; `colours` gives rows a dot of the colour that they have in the figure."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | Entry]]
    caption: str = ""
    colours: Sequence[str] = ()
    note: str = ""
    prose: bool = False  # cells hold sentences

    def html(self) -> str:
        """A table that can be scrolled where it is wider than the page."""
        header = "".join(f'<th scope="col">{_text(name)}</th>' for name in self.header)
        rows = []
        for i, row in enumerate(self.rows):
            key = f'<span class="key" style="background: {self.colours[i]}"></span>' if self.colours else ""
            cells = [cell if isinstance(cell, Entry) else Entry(cell) for cell in row]
            labels = self.header if self.prose else [""] * len(cells)
            html = "".join(cell.html(label) for cell, label in zip(cells, labels, strict=True))
            rows.append(f"<tr>{html.replace('>', f'>{key}', 1)}</tr>")
        marked = any(isinstance(cell, Entry) and cell.mark for row in self.rows for cell in row)
        kinds = ["wide", *(["prose"] if self.prose else []), *(["marked"] if marked else [])]
        caption = f"<caption>{_text(self.caption)}</caption>" if self.caption else ""
        body = f"{caption}<thead><tr>{header}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>"
        note = f'<p class="note">{_text(self.note)}</p>' if self.note else ""
        return f'<div class="{" ".join(kinds)}"><table>{body}</table></div>\n{note}'


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
        return f"<h2>{escape(self.title)}</h2>\n" + "\n".join(block.html() for block in self.blocks)


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
<style>{CSS}</style>
</head>
<body>
<h1>{escape(self.title)}</h1>
{blocks}
</body>
</html>
"""


def _text(text: str) -> str:
    """Text as HTML: a minus, not a hyphen, before numbers, and no line break before a percent sign."""
    return re.sub(r"(?<![\w-])-(?=[0-9]|inf)", "−", escape(text)).replace(" %", "\N{NO-BREAK SPACE}%")


def _words(command: str) -> str:
    """A command as HTML; lines are broken between its words only, not at hyphens."""
    return " ".join(f"<span>{escape(word)}</span>" for word in command.split(" "))


def _inline(svg: str, description: str) -> str:
    """An SVG as part of the page: no XML header, in the page's text colour, described for screen readers."""
    drawing = svg[svg.index("<svg") :].replace(INK.lower(), "currentColor").replace(INK, "currentColor")
    drawing = re.sub(r"\s*<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r'<g id="[^"]*"', "<g", drawing)  # names that nothing refers to, and that other drawings have too
    width = re.match(r'<svg[^>]* width="([0-9.]+pt)"', drawing)
    size = f' style="--width: {width[1]}"' if width else ""
    return drawing.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"{size}', 1)
