"""Maximise rewards (REW): the entry with the lowest return is replaced."""

from dataclasses import dataclass

from engram.memory.strategies.base import Kept, Numbers, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, replace
from engram.typing import Doubles


@dataclass(frozen=True)
class MaximiseRewards(CompiledStrategy):
    """Replace argmin over the table of R, the stored value."""

    name = "rew"
    numbers = ("value",)
    order = "value"

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Replace the lowest, even by a lower one."""
        return replace(write.lowest)

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """value ← R."""
        numbers["value"][slot] = write.entry_value

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """value ← the value that the entry has now."""
        numbers["value"][slot] = write.entry_value

    def adjusted(self, slot: int, value: float, numbers: Numbers) -> None:
        """value ← the value that an optimiser gave the entry."""
        numbers["value"][slot] = value

    def check(self, numbers: Numbers, kept: Kept) -> str:
        """The number is the entry's value."""
        return "" if (numbers["value"] == kept.values).all() else "the ranks are the values"

    def show(self, numbers: Numbers, writes: int, capacity: int) -> dict[str, Doubles]:
        """Nothing beyond the values, which are shown anyway."""
        return {}
