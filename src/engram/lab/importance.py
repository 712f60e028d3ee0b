"""How much of the differences between scores a setting tells by itself."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from engram.typing import Array, Doubles

FEWEST = 8  # trials of which something can be said


def share_told(
    values: Sequence[Any] | Array, scores: Sequence[float] | Array, *, ordered: bool, log: bool = False
) -> float | None:
    """Adjusted R² of the scores on one setting: a parabola over numbers, a mean for each of other values.

    None where there are too few trials to tell, or where they do not differ.
    """
    y = np.asarray(scores, np.float64)
    columns = _parabola(values, log=log) if ordered else _indicators(values)
    count, terms = len(y), np.linalg.matrix_rank(columns) - 1
    whole = ((y - y.mean()) ** 2).sum()
    if count < max(FEWEST, terms + 3) or whole == 0 or terms < 1:
        return None
    fitted = columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    missed = ((y - fitted) ** 2).sum() / (count - terms - 1)
    return float(max(0.0, 1 - missed / (whole / (count - 1))))


def _parabola(values: Sequence[Any] | Array, *, log: bool) -> Doubles:
    x: Array = np.asarray(values, np.float64)
    x = np.log(x) if log else x
    x = (x - x.mean()) / (x.std() or 1.0)
    return np.stack([np.ones_like(x), x, x * x], axis=1)


def _indicators(values: Sequence[Any] | Array) -> Doubles:
    texts = [str(value) for value in values]
    return np.array([[text == each for each in dict.fromkeys(texts)] for text in texts], np.float64)
