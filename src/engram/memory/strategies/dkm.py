"""Dynamic online k-means (DkM): k-means whose clusters shrink, and are replaced when nothing is left of them.

After every write to a full table each n falls by decay/N. That costs nothing here: with T the writes to the
full table so far and decay = p/q in lowest terms, an entry's rank is N q n + p T, which no write but its own
changes, which orders the entries as n does, and which is a whole number, so that n ≤ 0 is decided exactly.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory.strategies.base import BuiltIn, Decision, Write, blend, replace
from engram.typing import Doubles


@dataclass(frozen=True)
class DynamicKMeans(BuiltIn):
    """As kM, and then n ← n − decay/N for every cluster; one with n ≤ 0 is replaced by the new state."""

    decay: float = 1.0  # the paper: n ← n − 1/N

    name = "dkm"
    code = 4
    needs_nearest = True
    clusters = True

    def __post_init__(self) -> None:
        if not (isfinite(self.decay) and self.decay >= 0):
            raise InvalidInputError(f"decay must be a number from 0 (never forget) upwards, got {self.decay}")

    def settings(self) -> tuple[float, float]:
        """The p and q of decay = p/q (to a millionth)."""
        decay = Fraction(str(self.decay)).limit_denominator(1_000_000)
        return float(decay.numerator), float(decay.denominator)

    def named(self, ranks: Doubles, writes: int, capacity: int) -> dict[str, Doubles]:
        """`n`: the size of each cluster, 1 + merges − decay · t/N."""
        p, q = self.settings()
        return {"n": (ranks - p * writes) / (q * capacity)}


@compiled
def stored(write: Write, settings: tuple[float, float]) -> float:
    """n = 1."""
    p, q = settings
    return write.capacity * q + p * write.writes


@compiled
def renewed(rank: float, value: float, write: Write, settings: tuple[float, float]) -> float:
    """n ← n + 1."""
    return rank + write.capacity * settings[1]


@compiled
def when_full(write: Write, settings: tuple[float, float]) -> Decision:
    """Replace a cluster with n ≤ 0, the smallest first; without one, merge into the nearest."""
    p, q = settings
    if write.lowest_rank - p * write.writes <= 0:
        return replace(write.lowest)
    n = (write.nearest_rank - p * write.writes) / (write.capacity * q)
    return blend(write.nearest, 1 / (n + 1))
