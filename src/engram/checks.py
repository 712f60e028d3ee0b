"""Checks of what users hand in, each with a message that says what was given and what is expected."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.machine import available_memory

MOST_STEPS = 10**15  # that anything can count or wait for
LARGE = 2**26  # bytes above which it is worth asking how much memory there is


def at_least(name: str, value: Any, lowest: int, highest: int | None = None) -> int:
    """A whole number that is not below the lowest, nor above the highest if there is one."""
    if not is_number(value) or not (isinstance(value, int) or np.isfinite(value)) or value != int(value):
        raise InvalidInputError(f"{name} must be a whole number, got {shown(value)}")
    if value < lowest:
        raise InvalidInputError(f"{name} must be at least {lowest}, got {shown(value)}")
    if highest is not None and value > highest:
        raise InvalidInputError(f"{name} must be at most {highest:,}, got {shown(value)}")
    return int(value)


def within(name: str, value: Any, low: float, high: float) -> float:
    """A number from low to high, both included."""
    if not (is_number(value) and low <= value <= high and is_float(value)):
        raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}, got {shown(value)}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """One of the names on offer; an unknown one is answered with the nearest."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
        hint = nearest(value, choices) if isinstance(value, str) else ""
        raise InvalidInputError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}; {hint}".rstrip("; ")
        )
    return value


def room(size: int, what: str, advice: Callable[[int], str], free: int | None = None) -> None:
    """Raise InvalidInputError, naming what takes it, unless so many bytes are free: by default, of main memory.

    `advice` says what to do, given the bytes that are free.
    """
    if free is None and size > LARGE:
        free = available_memory()
    if free is not None and size > free:
        raise InvalidInputError(
            f"{what} takes {in_bytes(size)}, and {in_bytes(free)} of memory are available; {advice(free)}"
        )


def in_bytes(size: int) -> str:
    """A number of bytes in a unit that fits it."""
    for unit, power in (("TB", 12), ("GB", 9), ("MB", 6)):
        if size >= 10**power:
            return f"{size // 10 ** (power - 1) / 10:,.1f} {unit}" if size < 10**16 else f"{size // 10**power:,} {unit}"
    return f"{size:,} bytes"


def nearest(value: object, choices: Iterable[str]) -> str:
    """A question that names the choice most like what was given, or nothing where none is like it."""
    given, by_word = str(value).lower(), {choice.lower(): choice for choice in choices}
    ranked = sorted((slips(given, word), different_letters(given, word), word) for word in by_word)
    if not ranked or ranked[0][0] > max(1, len(given) // 3):
        return ""
    return f"did you mean {by_word[ranked[0][2]]!r}? "


def slips(given: str, meant: str) -> int:
    """Letters that were typed wrongly, left out or added, and neighbours that were swapped, each counting one."""
    rows = [list(range(len(meant) + 1))]
    for i, letter in enumerate(given, 1):
        row = [i]
        for j, other in enumerate(meant, 1):
            count = min(rows[-1][j] + 1, row[j - 1] + 1, rows[-1][j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == meant[j - 2] and given[i - 2] == other:
                count = min(count, rows[-2][j - 2] + 1)
            row.append(count)
        rows.append(row)
    return rows[-1][-1]


def different_letters(given: str, meant: str) -> int:
    """Letters that only one of the words has."""
    one, other = Counter(given), Counter(meant)
    return ((one - other) + (other - one)).total()


def is_number(value: Any) -> bool:
    """Whether this is a real number; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_float(value: Any) -> bool:
    """Whether a number is not too large for a float."""
    try:
        float(value)
    except OverflowError:
        return False
    return True


def shown(value: object, most: int = 200) -> str:
    """A value as it is written in Python, cut where it is long; its type where it cannot be written."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of thousands of digits, or a list that holds itself
        text = f"a {type(value).__name__} that is too long to show"
    except Exception:  # a class of the user's own
        text = f"a {type(value).__name__} that cannot be shown"
    return text if len(text) <= most else f"{text[:most]}…"
