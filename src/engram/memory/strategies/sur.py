"""Maximise surprise (SUR): the entry that was predicted best when it was written is replaced."""

from dataclasses import dataclass

import numpy as np

from engram.memory.strategies.base import Kept, Numbers, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, replace


@dataclass(frozen=True)
class MaximiseSurprise(CompiledStrategy):
    """Replace argmin over the table of `surprise`, |R − Q(s, a)| at the entry's last write."""

    name = "sur"
    numbers = ("surprise",)
    order = "surprise"
    needs_estimate = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Replace the least surprising."""
        return replace(write.lowest)

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """surprise ← |R − Q(s, a)|."""
        numbers["surprise"][slot] = abs(write.value - write.estimate)

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """surprise ← |R − Q(s, a)|."""
        numbers["surprise"][slot] = abs(write.value - write.estimate)

    def check(self, numbers: Numbers, kept: Kept) -> str:
        """A surprise is the difference of two values."""
        most = 2 * float(np.finfo(np.float32).max)
        right = (numbers["surprise"] >= 0) & (numbers["surprise"] <= most)
        return "" if right.all() else "a surprise is the difference of two values"
