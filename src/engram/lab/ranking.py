"""How the strategies of one agent in one environment compare, at the sizes at which something had to be forgotten."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from math import comb, inf
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

    @property
    def leaders(self) -> list[str]:
        """The strategy with the highest mean score: several, if they have the very same."""
        return [name for name in self.order if self.mean(name) == self.mean(self.order[0])]

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
        level = together(count * (count - 1) // 2)
        return _unless_by_chance(pooled_difference(pairs, level=level), pairs, level)

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


def _unless_by_chance(gap: Interval, pairs: Sequence[tuple[Array, Array]], level: float) -> Interval:
    """The interval of differences; without bounds where scores do not vary and chance could divide them so.

    An interval from scores that are all the same has no width, however few they are. But if strategies were alike,
    each division of the seeds' scores into two groups would be as likely as any other.
    """
    if any(np.ptp(scores) > 0 for pair in pairs for scores in pair):
        return gap
    ours, theirs = (max(len(scores) for scores in side) for side in zip(*pairs, strict=True))
    return gap if 2 / comb(ours + theirs, ours) <= 1 - level else Interval(-inf, gap.estimate, inf)


class Highest(NamedTuple):
    """The strategies with the highest mean, and how the others stand to them."""

    names: tuple[str, ...]  # one, unless several have the very same mean
    below: tuple[str, ...]  # beyond chance, the differences of the first to all others together at 95 %
    alike: tuple[str, ...]  # lower, but not told from it


def highest_of(scores: Mapping[str, Array]) -> Highest:
    """Which strategies have the highest mean, and which of the others chance between seeds does not tell from them."""
    means = {name: float(scores[name].mean()) for name in scores}
    names = tuple(name for name in scores if means[name] == max(means.values()))
    level = together(len(scores) - 1)
    others = [name for name in scores if name not in names]
    gaps = {name: _gap(scores[names[0]], scores[name], level) for name in others}
    below = tuple(name for name in others if gaps[name].above(0))
    return Highest(names, below, tuple(name for name in others if name not in below))


def _gap(ours: Array, theirs: Array, level: float) -> Interval:
    return _unless_by_chance(difference(ours, theirs, level=level), [(ours, theirs)], level)


def best_of(scores: Mapping[str, Array]) -> tuple[str, ...]:
    """The strategy with the highest mean, and those that chance between seeds does not tell from it.

    None unless at least half of the others lie below it beyond chance: where hardly any does, nobody has won.
    """
    if len(scores) < 2:
        return ()
    found = highest_of(scores)
    few = 2 * len(found.below) < len(scores) - 1
    return () if few else tuple(name for name in scores if name not in found.below)
