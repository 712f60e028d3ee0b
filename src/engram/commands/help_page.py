"""What `engram COMMAND --help` prints: options in groups, what one sets first in the first."""

import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Groups = Mapping[str, tuple[str, ...]]  # heading → fields, what is set first first
MORE = "more"  # heading of what is in no group
COLUMN = 28  # where what is said of an option begins
WIDEST = 110


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

    @property
    def is_positional(self) -> bool:
        """Whether it is a word without a name."""
        return not self.name.startswith("-")


def help_page(prog: str, about: str, options: Sequence[Option], groups: Groups) -> str:
    """The whole page, as wide as the terminal."""
    width = max(40, min(shutil.get_terminal_size().columns, WIDEST))
    words = " ".join(option.name for option in options if option.is_positional)
    lines = [f"usage: {prog} {words} [OPTIONS]".replace("  ", " "), ""]
    for paragraph in about.split("\n\n"):
        lines += [*textwrap.wrap(" ".join(paragraph.split()), width), ""]
    for heading, chosen in grouped(options, groups):
        lines += [f"{heading}:", *(line for option in chosen for line in option_lines(option, width)), ""]
    return "\n".join(lines)


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
    head = f"  {option.name} {option.takes}".rstrip()
    said = option.about + (f" [{option.default}]" if option.default else "")
    text = textwrap.wrap(said, width - COLUMN, break_on_hyphens=False) or [""]
    if len(head) < COLUMN - 1:
        text[0] = f"{head:{COLUMN}}{text[0]}"
        return [text[0].rstrip(), *(" " * COLUMN + line for line in text[1:])]
    return [head, *(" " * COLUMN + line for line in text if line)]
