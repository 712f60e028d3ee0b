"""Maximise surprise (SUR): the entry that was predicted best when it was written is replaced."""

from dataclasses import dataclass

from engram.compiling import compiled
from engram.memory.strategies.base import BuiltIn, Decision, Write, replace
from engram.typing import Doubles


@dataclass(frozen=True)
class MaximiseSurprise(BuiltIn):
    """argmin over the memory of |R − Q(s, a)|."""

    name = "sur"
    code = 2
    needs_estimate = True

    def named(self, ranks: Doubles, writes: int, capacity: int) -> dict[str, Doubles]:
        """`surprise`: |R − Q(s, a)| at the last write."""
        return {"surprise": ranks}


@compiled
def stored(write: Write, settings: tuple[float, float]) -> float:
    """|R − Q(s, a)|."""
    return abs(write.value - write.estimate)


@compiled
def renewed(rank: float, value: float, write: Write, settings: tuple[float, float]) -> float:
    """|R − Q(s, a)|."""
    return abs(write.value - write.estimate)


@compiled
def when_full(write: Write, settings: tuple[float, float]) -> Decision:
    """Replace the least surprising."""
    return replace(write.lowest)
