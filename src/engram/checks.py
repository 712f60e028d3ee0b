"""Checks of what users hand in, each with a message that says what was given and what is expected."""

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

from engram.errors import InvalidInputError


def at_least(name: str, value: Any, lowest: int) -> int:
    """A whole number that is not below the lowest."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float | np.number)
        or not np.isfinite(value)
        or value != np.floor(value)
    ):
        raise InvalidInputError(f"{name} must be a whole number, got {value!r}")
    if value < lowest:
        raise InvalidInputError(f"{name} must be at least {lowest}, got {value}")
    return int(value)


def within(name: str, value: Any, low: float, high: float) -> float:
    """A number from low to high, both included."""
    if not (isinstance(value, int | float | np.number) and low <= value <= high):
        raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")
    return float(value)


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """One of the names on offer; an unknown one is answered with the nearest."""
    choices = list(choices)
    if value not in choices:
        raise InvalidInputError(
            f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}; {nearest(value, choices)}".rstrip(
                "; "
            )
        )
    return value


def nearest(value: object, choices: Iterable[str]) -> str:
    """A question that names the choice most like what was given, or nothing where none is like it."""
    close = difflib.get_close_matches(str(value), list(choices), n=1)
    return f"did you mean {close[0]!r}? " if close else ""
