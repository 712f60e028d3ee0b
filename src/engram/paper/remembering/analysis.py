"""Is Adaptive at least as good as the best of LRU, kM, DkM and Fading, cell by cell?

The rule is that of `engram.lab.noninferiority`, and was written down before any run of the study was made. A cell is
an environment, an agent and a memory size; where no table ever filled, all strategies are the same, and it does not
count. Differences below a fiftieth of what scores of the rivals span in an environment are called none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engram.lab.labels import strategy_in_words, strategy_label
from engram.lab.noninferiority import (
    GOOD,
    OPEN,
    WORSE,
    Comparison,
    Scores,
    Word,
    compare,
    is_good_everywhere,
    passes_of_an_equal,
)
from engram.lab.pages import page
from engram.lab.pages.block import Block
from engram.lab.pages.finding import Finding
from engram.lab.pages.numbers import digits_for, score_number, score_text
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.wording import counted, listed, number_in_words, seeds_in_words, sentence
from engram.lab.statistics import FEWEST
from engram.paper.remembering.sweep import RIVALS
from engram.typing import Array

CANDIDATE = "adaptive"
SMALL = 0.02  # of what scores span in an environment: a difference that means nothing


@dataclass(frozen=True)
class Place:
    """A cell that has runs enough of all strategies."""

    env: str
    agent: str
    size: int
    candidate: Array  # one score per seed
    rivals: Scores


@dataclass(frozen=True)
class Compared:
    """A cell and what is found there."""

    place: Place
    comparison: Comparison

    @property
    def word(self) -> Word:
        """What is found."""
        return self.comparison.word


def places(blocks: Sequence[Block]) -> list[Place]:
    """The cells in which something had to be forgotten and every strategy has three runs."""
    found = []
    for block in blocks:
        for size in block.filled_sizes:
            scores = {name: block.complete.get(name, {}).get(size) for name in (CANDIDATE, *RIVALS)}
            there = {name: each for name, each in scores.items() if each is not None and len(each) >= FEWEST}
            if len(there) == len(scores):
                found.append(Place(block.env, block.agent, size, there.pop(CANDIDATE), there))
    return found


def compared(cells: Sequence[Place]) -> list[Compared]:
    """Each cell with what is found there; a difference means something if it is large for the environment."""
    span: dict[str, float] = {}
    for env in {cell.env for cell in cells}:
        means = [scores.mean() for cell in cells if cell.env == env for scores in cell.rivals.values()]
        span[env] = float(np.ptp(means))
    return [
        Compared(cell, compare(cell.candidate, cell.rivals, least=SMALL * span[cell.env], cells=len(cells)))
        for cell in cells
    ]


class RememberingReport(StudyReport):
    """The report of a study of one strategy beside others."""

    @cached_property
    def compared(self) -> list[Compared]:
        """What is found in each cell."""
        return compared(places(self.every_block))

    @cached_property
    def found(self) -> Finding:
        """In how many cells it is at least as good as the best of the others, and where it is worse."""
        if not self.compared:
            return Finding(f"No cell has enough runs of all strategies to compare {strategy_label(CANDIDATE)} with.")
        words = [each.word for each in self.compared]
        rivals = listed([strategy_label(name) for name in RIVALS])
        cells = f"{counted(len(words), 'cell')} (an environment, an agent and a size)"
        everywhere = "is" if is_good_everywhere(words) else "is not everywhere"
        headline = sentence(
            f"{strategy_in_words(CANDIDATE)} {everywhere} at least as good as the best of {rivals}: of {cells} in "
            f"{number_in_words(words.count(GOOD))}, where {passes_of_an_equal(len(words))} would do; it is better than "
            f"one of them in {number_in_words(sum(each.comparison.better for each in self.compared))}, and worse in "
            f"{number_in_words(words.count(WORSE)) if WORSE in words else 'none'}"
        )
        return Finding(headline, [self._detail(word) for word in (WORSE, OPEN) if word in words])

    def _detail(self, word: Word) -> str:
        sizes: dict[str, list[str]] = {}
        for each in self.compared:
            if each.word == word:
                sizes.setdefault(self.evidence.place(each.place.env, each.place.agent), []).append(
                    f"{each.place.size:,}"
                )
        where = "; ".join(f"{place}, {', '.join(of)}" for place, of in sizes.items())
        said = {WORSE: "Worse than at least one of them", OPEN: "Neither shown to be as good nor to be worse"}[word]
        return sentence(f"{said}: {where}")

    def claims(self) -> list[page.Block]:
        """A row for each cell."""
        if not self.compared:
            return []
        rows = [self._row(each) for each in self.compared]
        header = [
            "cell",
            strategy_label(CANDIDATE),
            "closest rival",
            "its score",
            "difference",
            "bound",
            "margin",
            "is",
        ]
        seeds = {len(scores) for each in self.compared for scores in each.place.rivals.values()}
        note = (
            "Difference: of the mean scores, to the rival that speaks most against it. Bound: the difference is above "
            "it with 95 % confidence (Welch, one side). At least as good: for each rival the bound is not below minus "
            "the margin. The margin comes from the rivals' scores alone: a strategy that is truly equal to the best of "
            "them passes eight times in ten, also if all rivals are as good as the best; one that is worse by the "
            "margin passes once in 20 times at most. Everywhere: worse in no cell, and at least as good in as many as "
            "an equal one is, 19 times in 20. Better, worse: an interval of the difference to a rival lies above or "
            "below 0, those of all rivals and cells together at 95 %. Runs of a strategy in a cell: "
            f"{seeds_in_words(seeds)}."
        )
        table = page.Table(header, rows, note=note)
        title = f"Where is {strategy_label(CANDIDATE)} at least as good as the best of the others?"
        return [page.Section(title, [table])]

    def _row(self, each: Compared) -> list[str | page.Entry]:
        place, gap = each.place, each.comparison.closest
        theirs = place.rivals[gap.rival]
        digits = digits_for(np.concatenate([place.candidate, *place.rivals.values()]))
        numbers = [score_number(value, digits) for value in (gap.estimate, gap.low, gap.margin)]
        return [
            f"{self.evidence.place(place.env, place.agent)}, {place.size:,}",
            score_text(place.candidate, digits),
            strategy_label(gap.rival),
            score_text(theirs, digits),
            *numbers,
            each.word,
        ]
