"""What `--help` prints: options in groups, what one sets first in the first. Nothing heavy is imported here."""

import ast
import re
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Groups = Mapping[str, tuple[str, ...]]  # heading → fields, what is set first first
HELP = ("-h", "--help")
MORE = "more"  # heading of what is in no group
COLUMN = 28  # where what is said of an option begins
WIDEST = 110
AGENTS = Path(__file__).parents[1] / "agents"


@dataclass(frozen=True)
class Option:
    """One option as users see it."""

    name: str  # --capacity, or RUN for a word without a name
    field: str
    takes: str  # what follows it: N, PATH, a|b; nothing for a flag
    about: str
    default: str  # as it would be typed; nothing where there is none
    choices: tuple[str, ...]
    kind: Any  # type of a value: int, float, Path, str or bool
    repeated: bool = False  # whether its name stands before each of several values

    @property
    def is_positional(self) -> bool:
        """Whether it is a word without a name."""
        return not self.name.startswith("-")


def agent_lines() -> dict[str, str]:
    """A line for each built-in agent: the first of its file. Nothing is imported, as help should be there at once."""
    lines = {}
    for file in sorted(AGENTS.glob("*.py")):
        if file.stem != "__init__":
            text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            first, *_ = re.split(r"[:(\n]", text)
            lines[file.stem] = first.rstrip(". ")
    return lines


def help_page(
    usage: Sequence[str],
    about: str,
    options: Sequence[Option],
    groups: Groups,
    lists: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """The whole page, as wide as the terminal: what is typed, what it does, lists of words, and options in groups."""
    width = max(40, min(shutil.get_terminal_size().columns, WIDEST))
    first, *others = usage
    lines = [f"usage: {first}", *(f"       {other}" for other in others), ""]
    for paragraph in about.split("\n\n"):
        lines += [*textwrap.wrap(" ".join(paragraph.split()), width), ""]
    for heading, words in (lists or {}).items():
        lines += [f"{heading}:", *(line for word, said in words.items() for line in entry(word, said, width)), ""]
    for heading, chosen in grouped(options, groups):
        lines += [f"{heading}:", *(line for option in chosen for line in option_lines(option, width)), ""]
    return "\n".join(lines)


def usage_of(prog: str, options: Sequence[Option]) -> str:
    """What is typed: the command, the words that it needs, and options."""
    return " ".join([prog, *(option.name for option in options if option.is_positional), "[OPTIONS]"])


def grouped(options: Sequence[Option], groups: Groups) -> Iterator[tuple[str, list[Option]]]:
    """Headings with their options, in the order of the groups; first words without a name, last what is in none."""
    by_field = {option.field: option for option in options}
    placed = {name for names in groups.values() for name in names}
    if positional := [option for option in options if option.is_positional]:
        yield "to give", positional
        placed |= {option.field for option in positional}
    for heading, names in groups.items():
        if chosen := [by_field[name] for name in names if name in by_field]:
            yield heading, chosen
    if rest := [option for option in options if option.field not in placed]:
        yield MORE if groups else "options", rest


def option_lines(option: Option, width: int) -> list[str]:
    """An option with what is said of it, and its default in brackets."""
    said = option.about + (f" [{option.default}]" if option.default else "")
    return entry(f"{option.name} {option.takes}".rstrip(), said, width)


def entry(word: str, said: str, width: int) -> list[str]:
    """A word with what is said of it in a column of its own."""
    head = f"  {word}"
    text = textwrap.wrap(said, width - COLUMN, break_on_hyphens=False) or [""]
    if len(head) < COLUMN - 1:
        text[0] = f"{head:{COLUMN}}{text[0]}"
        return [text[0].rstrip(), *(" " * COLUMN + line for line in text[1:])]
    return [head, *(" " * COLUMN + line for line in text if line)]
