"""Fading k-means: k-means whose clusters fade by a share, and are replaced when less than half a state is left.

After every write to a full table each n is multiplied by g = 1 − 1/(lifetime · N). That costs nothing here: with T
the writes to the full table so far, an entry's rank is ln n − T ln g, which no write but its own changes, and which
orders the entries as n does. It grows no faster than T, so it overflows after no number of writes.
"""

from dataclasses import dataclass
from math import exp, isfinite, log1p

import numpy as np

from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory.strategies.base import BuiltIn, Decision, Write, blend, replace
from engram.typing import Doubles


@dataclass(frozen=True)
class FadingKMeans(BuiltIn):
    """As kM, and then n ← n (1 − 1/(lifetime · N)) for every cluster; one with n < ½ is replaced by the new state.

    The lifetime is above 1, so that g > 0 for every N; with 1 nothing would be left of the n in a table of one entry.
    """

    lifetime: float = 10.0  # in writes per entry: an n that nothing is added to falls to 1/e in lifetime · N writes

    name = "fading"
    code = 5
    needs_nearest = True
    clusters = True

    def __post_init__(self) -> None:
        if not (isfinite(self.lifetime) and self.lifetime > 1):
            raise InvalidInputError(f"lifetime must be a number above 1 (writes per entry), got {self.lifetime}")

    def settings(self) -> tuple[float, float]:
        """The lifetime, and nothing."""
        return float(self.lifetime), 0.0

    def named(self, ranks: Doubles, writes: int, capacity: int) -> dict[str, Doubles]:
        """`n`: the size of each cluster, as far as it has not faded."""
        return {"n": np.exp(ranks - faded(writes, capacity, self.settings()))}


@compiled
def faded(writes: int, capacity: int, settings: tuple[float, float]) -> float:
    """−T ln g."""
    return -writes * log1p(-1 / (settings[0] * capacity))


@compiled
def stored(write: Write, settings: tuple[float, float]) -> float:
    """n = 1."""
    return faded(write.writes, write.capacity, settings)


@compiled
def renewed(rank: float, value: float, write: Write, settings: tuple[float, float]) -> float:
    """n ← n + 1, where ln(n + 1) = ln n + ln(1 + 1/n)."""
    return rank + log1p(exp(faded(write.writes, write.capacity, settings) - rank))


@compiled
def when_full(write: Write, settings: tuple[float, float]) -> Decision:
    """Replace a cluster with n < ½, the smallest first; without one, merge into the nearest."""
    past = faded(write.writes, write.capacity, settings)
    if exp(write.lowest_rank - past) < 0.5:
        return replace(write.lowest)
    n = exp(write.nearest_rank - past)
    return blend(write.nearest, 1 / (n + 1))
