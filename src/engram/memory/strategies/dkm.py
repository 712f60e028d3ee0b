"""Dynamic online k-means (DkM): k-means whose clusters shrink, and are replaced when nothing is left of them.

After every write to a full table each n falls by decay/N. With T the writes to the full table so far and decay = p/q in
lowest terms, each entry keeps the rank N q n + p T instead of n. No write but the entry's own changes its rank, ranks
order entries as n does, and they are whole numbers, so that n ≤ 0 is decided exactly.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from engram.memory.strategies.base import Kept, Numbers, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, blend, replace
from engram.typing import Doubles

MOST_DECAY = 1e6  # with N below 2³¹ and T below 2⁵², ranks stay far below the largest float64


@dataclass(frozen=True)
class DynamicKMeans(CompiledStrategy):
    """As kM, and then n ← n − decay/N for every cluster; one with n ≤ 0 is replaced by the new state."""

    decay: float = 1.0  # the paper: n ← n − 1/N; 0 never forgets

    name = "dkm"
    numbers = ("rank",)
    order = "rank"
    constants = ("p", "q")
    needs_nearest = "full"
    clusters = True

    def __post_init__(self) -> None:
        self.check_numbers({"decay": (0, MOST_DECAY)})

    @cached_property
    def fraction(self) -> Fraction:
        """Decay as p/q (to a millionth)."""
        return Fraction(str(self.decay)).limit_denominator(1_000_000)

    @cached_property
    def p(self) -> float:
        """The numerator of decay."""
        return float(self.fraction.numerator)

    @cached_property
    def q(self) -> float:
        """The denominator of decay."""
        return float(self.fraction.denominator)

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Replace a cluster with n ≤ 0, the smallest first; without one, merge into the nearest."""
        if numbers["rank"][write.lowest] - self.p * write.writes <= 0:
            return replace(write.lowest)
        n = (numbers["rank"][write.nearest] - self.p * write.writes) / (write.capacity * self.q)
        return blend(write.nearest, 1 / (n + 1))

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← 1."""
        numbers["rank"][slot] = write.capacity * self.q + self.p * write.writes

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1."""
        numbers["rank"][slot] += write.capacity * self.q

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1."""
        numbers["rank"][slot] += write.capacity * self.q

    def check(self, numbers: Numbers, kept: Kept) -> str:
        """N q n + p T began at N q and grew by N q at one write each, with T no more than the writes so far."""
        rank, state = numbers["rank"], kept.capacity * self.q
        most = (state * kept.clock + self.p * kept.writes) * (1 + 1e-12)
        right = (rank >= state) & (rank <= most) & (rank == np.floor(rank))
        return "" if right.all() else "a rank is N q n + p T, with n and T no more than were written"

    def show(self, numbers: Numbers, writes: int, capacity: int) -> dict[str, Doubles]:
        """`n`: the size of each cluster, 1 + merges − decay · t/N."""
        return {"n": (numbers["rank"] - self.p * writes) / (self.q * capacity)}
