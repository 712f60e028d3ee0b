"""Which of many strategies a page shows first; figures and tables of all of them are folded away below."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from engram.lab.labels import LABELS
from engram.lab.pages.block import Block
from engram.lab.pages.finding import FEW_PLACES
from engram.lab.pages.wording import number_in_words

MANY = 6  # strategies, from which on some are shown first
USUAL = frozenset({"lru", "kmeans", "dkm", "fading", "adaptive"})


@dataclass(frozen=True)
class Featured:
    """The strategies that are shown first where there are many."""

    known: frozenset[str]  # the usual ones, and one's own
    winners: frozenset[str]  # those with the highest mean

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> Self:
        """Those of a page with these tables."""
        every = {name for block in blocks for name in block.strategies}
        known = USUAL & every | {name for name in every if name.partition(":")[0] not in LABELS}
        return cls(known, _winners(blocks, known))

    def among(self, strategies: Sequence[str]) -> list[str]:
        """Of many strategies those that are shown first; of a few, and where only one of them is known, all."""
        if len(strategies) < MANY or len(self.known & set(strategies)) < 2:
            return list(strategies)
        return [name for name in strategies if name in self.known | self.winners]

    def block(self, block: Block) -> Block:
        """A block with the strategies that are shown first."""
        return replace(block, strategies=self.among(block.strategies))

    def in_words(self, blocks: Sequence[Block]) -> str:
        """How many strategies are told of, where those are not all; otherwise nothing."""
        cut = [block for block in blocks if len(self.among(block.strategies)) < len(block.strategies)]
        every = {name for block in cut for name in block.strategies}
        if not cut:
            return ""
        shown = {name for block in cut for name in self.among(block.strategies)}
        return (
            f"Of {number_in_words(len(every))} strategies, {number_in_words(len(shown))} are shown and compared here."
        )


def _winners(blocks: Sequence[Block], known: frozenset[str]) -> frozenset[str]:
    """The strategies with the highest mean, each in a place; of many places, those that win most often.

    None of the latter where one that is known wins as often.
    """
    compared = [each for block in blocks if (each := block.comparison) is not None]
    firsts = Counter(each.order[0] for each in compared if each.mean(each.order[0]) > each.mean(each.order[1]))
    if len(blocks) <= FEW_PLACES:
        return frozenset(firsts)
    most = frozenset(name for name, times in firsts.items() if times == max(firsts.values()))
    return frozenset() if most & known else most
