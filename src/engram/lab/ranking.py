"""How the strategies of one agent in one environment compare, at the sizes at which something had to be forgotten."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import NamedTuple

import numpy as np

from engram.lab.improvement import improvement_interval
from engram.lab.statistics import (
    Interval,
    difference,
    interquartile_interval,
    pooled_difference,
)
from engram.lab.typical import are_shares, average
from engram.typing import Array


@dataclass(frozen=True)
class Comparison:
    """The scores of several strategies, each at the same sizes.

    One is said to be *above* another if the interval of the difference of their mean scores, the mean over sizes, lies
    above 0. The intervals of all pairs hold together with 95 % confidence.
    """

    scores: Mapping[str, Mapping[int, Array]]  # strategy → size → one score per seed

    @property
    def sizes(self) -> list[int]:
        """The sizes at which they are compared."""
        return sorted({size for by_size in self.scores.values() for size in by_size})

    @cached_property
    def order(self) -> list[str]:
        """The strategies from the highest mean score to the lowest."""
        return sorted(self.scores, key=lambda name: -self.mean(name))

    def mean(self, name: str) -> float:
        """The mean over sizes of a strategy's mean scores."""
        return float(np.mean([scores.mean() for scores in self.scores[name].values()]))

    @cached_property
    def are_shares(self) -> bool:
        """Whether all scores lie between 0 and 1, as where a score is how often a goal is reached."""
        return are_shares(scores for by_size in self.scores.values() for scores in by_size.values())

    def middle(self, name: str) -> Interval:
        """The interquartile mean of all scores of a strategy."""
        return interquartile_interval(self.scores[name].values())

    def average(self, name: str) -> Interval:
        """The mean over sizes of a strategy's mean scores, with its interval."""
        return average(self.scores[name].values(), shares=self.are_shares)

    @property
    def middles_differ(self) -> bool:
        """Whether the interquartile means say anything: not of shares, nor where most runs score the same."""
        middles = [self.middle(name).estimate for name in self.scores]
        return not self.are_shares and not np.allclose(middles, middles[0], rtol=1e-9, atol=0)

    def runs(self, name: str) -> int:
        """How many runs of a strategy there are, at all sizes together."""
        return sum(len(scores) for scores in self.scores[name].values())

    @property
    def seeds(self) -> set[int]:
        """The numbers of seeds of the cells."""
        return {len(scores) for by_size in self.scores.values() for scores in by_size.values()}

    @property
    def all_the_same(self) -> bool:
        """Whether every run of every strategy has the same score."""
        every = np.concatenate([scores for by_size in self.scores.values() for scores in by_size.values()])
        return bool(np.ptp(every) == 0)

    def gap(self, ours: str, theirs: str) -> Interval:
        """How far one lies above another in the mean over sizes, all pairs together at 95 %."""
        pairs = [(self.scores[ours][size], self.scores[theirs][size]) for size in self.sizes]
        count = len(self.scores)
        return pooled_difference(pairs, level=together(count * (count - 1) // 2))

    @cached_property
    def above(self) -> dict[str, tuple[str, ...]]:
        """For each strategy those that it is above, the highest of them first."""
        found: dict[str, list[str]] = {name: [] for name in self.order}
        for ours, theirs in permutations(self.order, 2):
            if self.gap(ours, theirs).above(0):
                found[ours].append(theirs)
        return {name: tuple(below) for name, below in found.items()}

    def higher_at(self, ours: str, theirs: str) -> list[int]:
        """The sizes at which one has the higher mean."""
        return [size for size in self.sizes if self.scores[ours][size].mean() > self.scores[theirs][size].mean()]

    def improvement(self, ours: str, theirs: str) -> Interval:
        """How probably a run of one scores above one of another at the same size, the mean over sizes."""
        strata = ([self.scores[name][size] for size in self.sizes] for name in (ours, theirs))
        return improvement_interval(*strata)


def together(count: int) -> float:
    """The level that each of so many intervals needs for all of them to hold together with 95 % confidence."""
    return 1 - 0.05 / max(count, 1)


class Highest(NamedTuple):
    """The strategy with the highest mean, and how the others stand to it."""

    name: str
    below: tuple[str, ...]  # beyond chance, its differences to all others together at 95 %
    alike: tuple[str, ...]  # not told from it


def highest_of(scores: Mapping[str, Array]) -> Highest:
    """Which strategy has the highest mean, and which of the others chance between seeds does not tell from it."""
    first = max(scores, key=lambda name: float(scores[name].mean()))
    level = together(len(scores) - 1)
    others = [name for name in scores if name != first]
    below = tuple(name for name in others if difference(scores[first], scores[name], level=level).above(0))
    return Highest(first, below, tuple(name for name in others if name not in below))


def best_of(scores: Mapping[str, Array]) -> tuple[str, ...]:
    """The strategy with the highest mean, and those that chance between seeds does not tell from it.

    None unless at least half of the others lie below it beyond chance: where hardly any does, nobody has won.
    """
    if len(scores) < 2:
        return ()
    found = highest_of(scores)
    few = 2 * len(found.below) < len(scores) - 1
    return () if few else tuple(name for name in scores if name not in found.below)
