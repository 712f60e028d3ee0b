"""Maximise surprise (SUR): the entry that was predicted best when it was written is replaced."""

from dataclasses import dataclass

from engram.memory.strategies.base import Numbers, Write
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
