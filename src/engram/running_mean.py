"""A mean that follows what it is a mean of."""

from math import isfinite
from typing import Any

from engram.errors import InvalidInputError


class RunningMean:
    """The mean of all numbers that were added; of more than `span` of them, those of long ago fade.

    m ← m + (x − m)/min(n, span), n being how many there were.
    """

    def __init__(self, span: int) -> None:
        self._span = span
        self.count = 0  # of numbers, up to the span
        self.mean = 0.0  # 0 where there are none

    def add(self, number: float) -> None:
        """Count one more."""
        self.count = min(self.count + 1, self._span)
        self.mean += (number - self.mean) / self.count

    def state_dict(self) -> dict[str, Any]:
        """What has to be remembered."""
        return {"count": self.count, "mean": self.mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        count, mean = state["count"], state["mean"]
        counted = type(count) is int and 0 <= count <= self._span
        if not (counted and type(mean) is float and isfinite(mean)) or (count == 0 and mean != 0):
            raise InvalidInputError(
                f"a running mean must be a number over 0 to {self._span} others, got {mean!r:.40} over {count!r:.40}"
            )
        self.count, self.mean = count, mean
