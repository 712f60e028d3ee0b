"""Least recently used (LRU): the entry that was read or written longest ago is replaced."""

from dataclasses import dataclass

from engram.compiling import compiled
from engram.memory.strategies.base import BuiltIn, Decision, Write, replace
from engram.typing import Doubles


@dataclass(frozen=True)
class LeastRecentlyUsed(BuiltIn):
    """argmin over the memory of the time of last use."""

    name = "lru"
    code = 0
    touches = True

    def named(self, ranks: Doubles, writes: int, capacity: int) -> dict[str, Doubles]:
        """`last_used`: the tick at which an entry was last read or written."""
        return {"last_used": ranks}


@compiled
def stored(write: Write, settings: tuple[float, float]) -> float:
    """Now."""
    return float(write.clock)


@compiled
def renewed(rank: float, value: float, write: Write, settings: tuple[float, float]) -> float:
    """Now."""
    return float(write.clock)


@compiled
def when_full(write: Write, settings: tuple[float, float]) -> Decision:
    """Replace the least recently used."""
    return replace(write.lowest)
