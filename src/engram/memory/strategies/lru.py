"""Least recently used (LRU): the entry that was read or written longest ago is replaced."""

from dataclasses import dataclass

import numpy as np

from engram.memory.strategies.base import Kept, Numbers, Touch, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, replace


@dataclass(frozen=True)
class LeastRecentlyUsed(CompiledStrategy):
    """Replace argmin over the table of `last_used`, the tick at which an entry was last read or written."""

    name = "lru"
    numbers = ("last_used",)
    order = "last_used"

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Replace the least recently used."""
        return replace(write.lowest)

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """last_used ← now."""
        numbers["last_used"][slot] = write.clock

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """last_used ← now."""
        numbers["last_used"][slot] = write.clock

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        """last_used ← now, for every entry that was read."""
        for slot in touch.slots:
            numbers["last_used"][slot] = touch.clock

    def check(self, numbers: Numbers, kept: Kept) -> str:
        """An entry was used at a tick of the clock."""
        used = numbers["last_used"]
        right = (used >= 1) & (used <= kept.clock) & (used == np.floor(used))
        return "" if right.all() else "last_used is a tick from 1 to the clock"
