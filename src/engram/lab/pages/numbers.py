"""Scores and intervals as text, with as many digits as they need."""

import numpy as np

from engram.lab.statistics import Interval
from engram.typing import Array


def digits_for(scores: Array) -> int:
    """How many digits to show: two for returns between −1 and 1, one below 100, none for larger ones."""
    largest = float(np.max(np.abs(scores)))
    return 2 if largest <= 1 else 1 if largest < 100 else 0


def score_text(scores: Array, digits: int | None = None) -> str:
    """Mean ± standard deviation as text; a single seed has no deviation."""
    digits = digits_for(scores) if digits is None else digits
    mean = f"{_zero(float(scores.mean()), digits):.{digits}f}"
    return mean if len(scores) == 1 else f"{mean} ± {float(scores.std(ddof=1)):.{digits}f}"


def interval_text(interval: Interval | None, digits: int | None = None) -> str:
    """An estimate and its bounds as text."""
    if interval is None:
        return "–"
    places = digits_for(np.array(interval.estimate)) if digits is None else digits
    low, estimate, high = (_zero(value, places) for value in interval)
    if not interval.bounded:
        return f"{estimate:.{places}f}"
    return f"{estimate:.{places}f} [{low:.{places}f}, {high:.{places}f}]"


def _zero(value: float, digits: int) -> float:
    """The value, but 0 where it rounds to 0, so that no −0 is shown."""
    return value if abs(value) >= 0.5 * 10**-digits else 0.0
