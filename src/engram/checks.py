"""Checks of what users hand in, each with a message that says what was given and what is expected."""

import difflib
from collections.abc import Iterable
from typing import Any

import numpy as np

from engram.errors import InvalidInputError

MOST_STEPS = 10**15  # that anything can count or wait for


def at_least(name: str, value: Any, lowest: int) -> int:
    """A whole number that is not below the lowest."""
    if not is_whole(value):
        raise InvalidInputError(f"{name} must be a whole number, got {value!r:.100}")
    if value < lowest:
        raise InvalidInputError(f"{name} must be at least {lowest}, got {value!r:.100}")
    return int(value)


def whole(name: str, value: Any, lowest: int, highest: int) -> int:
    """A whole number from lowest to highest, both included."""
    number = at_least(name, value, lowest)
    if number > highest:
        raise InvalidInputError(f"{name} must be at most {highest:,}, got {value!r:.100}")
    return number


def is_whole(value: Any) -> bool:
    """Whether something is a number without a fraction; a bool is none."""
    if isinstance(value, int | np.integer):
        return not isinstance(value, bool)
    return isinstance(value, float | np.floating) and float(value).is_integer()


def within(name: str, value: Any, low: float, high: float) -> float:
    """A number from low to high, both included."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool | np.complexfloating)
    if not (number and low <= value <= high):
        raise InvalidInputError(f"{name} must be a number from {low:g} to {high:g}, got {value!r:.100}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that only counts as one of them."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidInputError(f"{name} must be True or False, got {value!r:.100}")
    return bool(value)


def one_of(name: str, value: str, choices: Iterable[str]) -> str:
    """One of the names on offer; an unknown one is answered with the nearest."""
    choices = list(choices)
    if not isinstance(value, str) or value not in choices:
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
