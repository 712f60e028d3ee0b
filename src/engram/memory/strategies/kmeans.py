"""Online k-means (kM): when full, every state is merged into its nearest cluster."""

from dataclasses import dataclass

from engram.compiling import compiled
from engram.memory.strategies.base import BuiltIn, Decision, Write, blend
from engram.typing import Doubles


@dataclass(frozen=True)
class KMeans(BuiltIn):
    """c ← (n c + s)/(n + 1), Q ← (n Q + R)/(n + 1), n ← n + 1."""

    name = "kmeans"
    code = 3
    needs_nearest = True
    clusters = True
    ordered = False

    def named(self, ranks: Doubles, writes: int, capacity: int) -> dict[str, Doubles]:
        """`n`: the states in each cluster."""
        return {"n": ranks}


@compiled
def stored(write: Write, settings: tuple[float, float]) -> float:
    """n = 1."""
    return 1.0


@compiled
def renewed(rank: float, value: float, write: Write, settings: tuple[float, float]) -> float:
    """n ← n + 1."""
    return rank + 1


@compiled
def when_full(write: Write, settings: tuple[float, float]) -> Decision:
    """c + (s − c)/(n + 1) is (n c + s)/(n + 1)."""
    return blend(write.nearest, 1 / (write.nearest_rank + 1))
