"""A report as one HTML file that needs nothing else: no network and no script, in light and in dark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from engram.report.style import INK

CSS = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --soft: #9aa4af; --line: #3a424b; --paper: #15181c; }
  figure svg, .key { filter: brightness(1.25); }
}
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 46rem; font: 1rem/1.55 system-ui, sans-serif;
  background: var(--paper); color: var(--ink); }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0.5rem 0 1rem; text-wrap: balance; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 0.6rem; }
figure { margin: 1.5rem 0; }
figure svg { display: block; width: 100%; height: auto; color: var(--ink); }
figcaption, .note { color: var(--soft); font-size: 0.9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.35rem 0.9rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { border-bottom: 1.5px solid var(--ink); font-weight: 600; }
tbody tr { border-bottom: 1px solid var(--line); }
.key { display: inline-block; width: 0.7rem; height: 0.7rem; border-radius: 50%; margin-right: 0.5rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.3rem 1.2rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; overflow-wrap: anywhere; }
code { font: 0.9em ui-monospace, monospace; }
code span { white-space: nowrap; }
@media (max-width: 32rem) {
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: 0.6rem; }
  table { font-size: 0.9rem; width: 100%; }
  th, td { padding: 0.35rem 0.25rem; }
}
"""


@dataclass(frozen=True)
class Table:
    """Rows under a header; `colours` gives rows a dot of the colour that they have in the figure."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    colours: Sequence[str] = ()
    note: str = ""


@dataclass(frozen=True)
class Page:
    """What a report holds, in the order in which it is read."""

    title: str
    found: Sequence[str]  # what came out, in sentences
    figure: str  # SVG
    caption: str
    tables: Sequence[Table]
    made: Mapping[str, str] = field(default_factory=dict)  # how it was made: what it is → its value
    commands: Sequence[str] = ()  # to make it again

    def html(self) -> str:
        """The whole file."""
        commands = "".join(f"<dd><code>{_words(command)}</code></dd>" for command in self.commands)
        made = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in self.made.items())
        return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(self.title)}</title>
<style>{CSS}</style>
</head>
<body>
<h1>{escape(self.title)}</h1>
{"".join(f"<p>{escape(sentence)}</p>" for sentence in self.found)}
<figure>
{_inline(self.figure, self.caption)}
<figcaption>{escape(self.caption)}</figcaption>
</figure>
{"".join(map(_table, self.tables))}
<h2>How it was made</h2>
<dl>{f"<dt>Command</dt>{commands}" if commands else ""}{made}</dl>
</body>
</html>
"""


def _table(table: Table) -> str:
    header = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.header)
    rows = []
    for i, row in enumerate(table.rows):
        key = f'<span class="key" style="background: {table.colours[i]}"></span>' if table.colours else ""
        first, *others = row
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
        rows.append(f"<tr><td>{key}{escape(first)}</td>{cells}</tr>")
    body = f"<thead><tr>{header}</tr></thead>\n<tbody>\n" + "\n".join(rows) + "\n</tbody>"
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f'<h2>{escape(table.title)}</h2>\n<div class="wide"><table>{body}</table></div>\n{note}'


def _words(command: str) -> str:
    """A command that may be broken between its words only, not at a hyphen."""
    return " ".join(f"<span>{escape(word)}</span>" for word in command.split(" "))


def _inline(svg: str, description: str) -> str:
    """The drawing without its XML header, in the page's own ink, described for those who cannot see it."""
    drawing = svg[svg.index("<svg") :].replace(INK.lower(), "currentColor").replace(INK, "currentColor")
    return drawing.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1)
