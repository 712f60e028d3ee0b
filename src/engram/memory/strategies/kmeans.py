"""Online k-means (kM): when full, every state is merged into its nearest cluster."""

from dataclasses import dataclass

import numpy as np

from engram.memory.strategies.base import Kept, Numbers, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, blend


@dataclass(frozen=True)
class KMeans(CompiledStrategy):
    """c ← (n c + s)/(n + 1), Q ← (n Q + R)/(n + 1), n ← n + 1."""

    name = "kmeans"
    numbers = ("n",)  # states in each cluster
    needs_nearest = "full"
    clusters = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """c + (s − c)/(n + 1) is (n c + s)/(n + 1)."""
        return blend(write.nearest, 1 / (numbers["n"][write.nearest] + 1))

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← 1."""
        numbers["n"][slot] = 1

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1."""
        numbers["n"][slot] += 1

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        """n ← n + 1."""
        numbers["n"][slot] += 1

    def check(self, numbers: Numbers, kept: Kept) -> str:
        """Every state of a cluster was one write."""
        n = numbers["n"]
        right = (n >= 1) & (n <= kept.clock) & (n == np.floor(n))
        return "" if right.all() else "n is a whole number of writes, from 1 to the clock"
