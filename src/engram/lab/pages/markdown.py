"""A report as Markdown, for readers of a repository: the same page, with its figures as files beside it."""

import re
from collections.abc import Sequence
from urllib.parse import quote

from engram.lab.pages.links import FilesBeside, HomeNote
from engram.lab.pages.page import (
    Block,
    Commands,
    Drawing,
    Entry,
    Facts,
    Film,
    Finding,
    Folded,
    Names,
    Ornament,
    Page,
    Section,
    Subsection,
    Table,
    Text,
    Warnings,
)
from engram.lab.pages.panels import Panels

LINK = "/:?#&=%+,;@~"  # signs that mean something in a link, and stay


def markdown(page: Page) -> str:
    """A page as Markdown, without its folded blocks."""
    return "\n\n".join([f"# {_escape(page.title)}", *_blocks(page.blocks)]) + "\n"


def _blocks(blocks: Sequence[Block]) -> list[str]:
    return [text for block in blocks for text in _block(block)]


def _block(block: Block) -> list[str]:  # noqa: PLR0911, PLR0912 (one for each kind)
    match block:
        case FilesBeside() | HomeNote():
            return [block.markdown()]
        case Text(text=text):
            return [_escape(text)]
        case Finding(text=text):
            return [f"**{_escape(text)}**"]
        case Warnings(texts=texts):
            return ["\n".join(f"- **{_escape(text)}**" for text in texts)]
        case Names(names=names):
            return [", ".join(f"`{name}`" for name in names)]
        case Drawing(file=file, caption=caption, alt=alt):
            return [f"![{_escape(alt or caption)}]({quote(file)})", f"*{_escape(caption)}*"]
        case Panels(drawings=drawings):
            return _blocks(drawings)
        case Table():
            return _table(block)
        case Facts(facts=facts, commands=commands):
            lines = [f"- {name}: {'; '.join(map(_escape, texts))}" for name, texts in facts.items()]
            return ["\n".join([*(f"- `{command}`" for command in commands), *lines])]
        case Commands(commands=told):
            return ["\n".join(f"- {what}: `{how}`" for what, how in told.items())]
        case Film(file=file):
            return [f"![{_escape(file)}]({quote(file)})"]
        case Section(title=title, blocks=inside):
            return _titled("##", title, inside)
        case Subsection(title=title, blocks=inside):
            return _titled("###", title, inside)
        case Folded() | Ornament():
            return []
    raise TypeError(f"there is no Markdown for {type(block).__name__}")


def _titled(level: str, title: str, blocks: Sequence[Block]) -> list[str]:
    """Blocks below their title; nothing where all of them are left out."""
    inside = _blocks(blocks)
    return [f"{level} {_escape(title)}", *inside] if inside else []


def _table(table: Table) -> list[str]:
    cells = [[cell if isinstance(cell, Entry) else Entry(cell) for cell in row] for row in table.rows]
    rule = ["---", *(["---" if table.prose else "---:"] * (len(table.header) - 1))]
    lines = [[_escape(name) for name in table.header], rule]
    for number, row in enumerate(cells):
        if number in table.groups:
            lines.append([f"**{_escape(table.groups[number])}**", *[""] * (len(table.header) - 1)])
        lines.append([_cell(cell) for cell in row])
    found = ["\n".join(f"| {' | '.join(line)} |" for line in lines)]
    return [
        *([f"**{_escape(table.caption)}**"] if table.caption else []),
        *found,
        *([_escape(table.note)] if table.note else []),
    ]


def _cell(cell: Entry) -> str:
    text = f"[{_escape(cell.text)}]({quote(cell.link, LINK)})" if cell.link else _escape(cell.text)
    parts = [f"**{text}**" if cell.bold else text, *([cell.mark] if cell.mark else [])]
    below = "".join(f"<br><sub>{_escape(line)}</sub>" for line in cell.below)
    return " ".join(parts) + below


def _escape(text: str) -> str:
    """Text with the signs escaped that mean something in Markdown, and with a minus, not a hyphen, before numbers."""
    return re.sub(r"(?<![\w-])-(?=[0-9]|inf)", "−", re.sub(r"([|*_<])", r"\\\1", text))
