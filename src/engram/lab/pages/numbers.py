"""Scores and intervals as text, with as many digits as they need."""

from math import floor, log10

import numpy as np

from engram.lab.statistics import Interval
from engram.typing import Array

MOST_DIGITS = 9  # after the point


def digits_for(scores: Array) -> int:
    """How many digits to show: none for large numbers, one below 100, two up to 1, for small ones two that count."""
    largest = float(np.max(np.abs(scores)))
    if largest > 1:
        return 1 if largest < 100 else 0
    return 2 if largest >= 0.01 or largest == 0 else min(1 - floor(log10(largest)), MOST_DIGITS)


def score_number(value: float, digits: int) -> str:
    """A number with so many digits, without a minus where it rounds to 0."""
    return f"{_zero(value, digits):.{digits}f}"


def score_text(scores: Array, digits: int | None = None) -> str:
    """Mean ± standard deviation as text; a single seed has no deviation."""
    digits = digits_for(scores) if digits is None else digits
    mean = score_number(float(scores.mean()), digits)
    return mean if len(scores) == 1 else f"{mean} ± {float(scores.std(ddof=1)):.{digits}f}"


def interval_text(interval: Interval | None, digits: int | None = None) -> str:
    """An estimate and its bounds as text."""
    if interval is None:
        return "–"
    places = digits_for(np.array(interval.estimate)) if digits is None else digits
    low, estimate, high = (score_number(value, places) for value in interval)
    return f"{estimate} [{low}, {high}]" if interval.bounded else estimate


def _zero(value: float, digits: int) -> float:
    """The value, but 0 where it rounds to 0, so that no −0 is shown."""
    return value if abs(value) >= 0.5 * 10**-digits else 0.0
