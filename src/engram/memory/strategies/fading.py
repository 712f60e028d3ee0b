"""Fading k-means: k-means whose clusters fade by a share, and are replaced when less than half a state is left.

After every write to a full table each n is multiplied by g = 1 − 1/(lifetime · N). With T the writes to the full table
so far, each entry keeps the rank ln n − T ln g instead of n. No write but the entry's own changes its rank, and ranks
order entries as n does. A rank grows no faster than T, so it never overflows.
"""

from dataclasses import dataclass
from math import exp, log, log1p
from typing import ClassVar

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.memory.strategies.base import Kept, Numbers, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, blend, replace
from engram.typing import Doubles

MOST_LIFETIME = 1e9


@dataclass(frozen=True)
class FadingKMeans(CompiledStrategy):
    """As kM, and then n ← n (1 − 1/(lifetime · N)) for every cluster; one with n < ½ is replaced by the new state.

    The lifetime is above 1, so that g > 0 for every N: with 1, a table of one entry would have g = 0.
    """

    lifetime: float = 10.0  # in writes per entry: an n that nothing is added to falls to 1/e in lifetime · N writes

    name = "fading"
    numbers: ClassVar[tuple[str, ...]] = ("rank",)
    order = "rank"
    needs_nearest = "full"
    clusters = True

    def __post_init__(self) -> None:
        if not (checks.is_number(self.lifetime) and 1 < self.lifetime <= MOST_LIFETIME):
            raise InvalidInputError(
                f"lifetime must be a number above 1 (writes per entry) and up to {MOST_LIFETIME:g}, got "
                f"{checks.shown(self.lifetime)}"
            )
        self.check_numbers({"lifetime": (1, MOST_LIFETIME)})

    def faded(self, writes: int, capacity: int) -> float:
        """−T ln g."""
        return -writes * log1p(-1 / (self.lifetime * capacity))

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Replace a cluster with n < ½, the smallest first; without one, merge into the nearest."""
        return replace(write.lowest) if self.is_used_up(write, numbers) else self.merged(write, numbers)

    def is_used_up(self, write: Write, numbers: Numbers) -> bool:
        """Whether the smallest n is below ½."""
        return exp(numbers["rank"][write.lowest] - self.faded(write.writes, write.capacity)) < 0.5

    def merged(self, write: Write, numbers: Numbers) -> Decision:
        """Merge into the nearest: c + (s − c)/(n + 1) is (n c + s)/(n + 1)."""
        n = exp(numbers["rank"][write.nearest] - self.faded(write.writes, write.capacity))
        return blend(write.nearest, 1 / (n + 1))

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← 1."""
        numbers["rank"][slot] = self.faded(write.writes, write.capacity)

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1."""
        self.count(slot, write, numbers)

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1."""
        self.count(slot, write, numbers)

    def count(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1, where ln(n + 1) = ln n + ln(1 + 1/n)."""
        numbers["rank"][slot] += log1p(exp(self.faded(write.writes, write.capacity) - numbers["rank"][slot]))

    def check(self, numbers: Numbers, kept: Kept) -> str:
        """ln n − T ln g began at −T ln g, and n grew by no more than 1 at each tick of the clock."""
        most = self.faded(kept.writes, kept.capacity) + log(kept.clock + 1)
        right = (numbers["rank"] >= 0) & (numbers["rank"] <= most * (1 + 1e-9) + 1e-9)
        return "" if right.all() else "a rank is ln n − T ln g, with n and T no more than were written"

    def show(self, numbers: Numbers, writes: int, capacity: int) -> dict[str, Doubles]:
        """`n`: the size of each cluster after all fading."""
        return {"n": self.sizes(numbers, writes, capacity)}

    def sizes(self, numbers: Numbers, writes: int, capacity: int) -> Doubles:
        """n of each cluster: by `exp` of the kernels, as the last bits of NumPy's depend on the processor."""
        ranks = numbers["rank"] - self.faded(writes, capacity)
        return np.array([exp(rank) for rank in ranks.tolist()], np.float64)
