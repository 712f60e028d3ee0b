"""Maximise rewards (REW): the entry with the lowest return is replaced."""

from dataclasses import dataclass

from engram.compiling import compiled
from engram.memory.strategies.base import BuiltIn, Decision, Write, replace
from engram.typing import Doubles


@dataclass(frozen=True)
class MaximiseRewards(BuiltIn):
    """argmin over the memory of R."""

    name = "rew"
    code = 1

    def named(self, ranks: Doubles, writes: int, capacity: int) -> dict[str, Doubles]:
        """Nothing beyond the values themselves."""
        return {}


@compiled
def stored(write: Write, settings: tuple[float, float]) -> float:
    """R."""
    return write.value


@compiled
def renewed(rank: float, value: float, write: Write, settings: tuple[float, float]) -> float:
    """The value that the entry has now."""
    return value


@compiled
def when_full(write: Write, settings: tuple[float, float]) -> Decision:
    """Replace the lowest, even by a lower one."""
    return replace(write.lowest)
