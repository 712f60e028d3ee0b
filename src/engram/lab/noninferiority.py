"""At least as good as the best of several rivals, cell by cell: by which margin, and how often the rule is right.

A candidate *passes* in a cell if, for every rival, the one-sided 95 % bound (Welch) of how far its mean score lies
above the rival's is not below −δ. As that must hold for each, nothing needs a correction for their number (an
intersection–union test): one that is behind a rival by δ passes once in 20 times at most. It is *worse* in a cell if it
does not pass there and an interval of a difference lies below 0, those of all rivals and cells together at 95 %
(Bonferroni).

The margin δ comes from the scores of the rivals alone, so that no candidate can change it. It is such that a strategy
that is truly equal to the best rival, in mean and spread, passes eight times in ten, should all rivals be as good as
the best:

    δ = f s      s² = (s_best² + s_rival²)/2

with the standard deviations of n runs each. f is found by drawing normal scores of a candidate and of rivals that are
all alike. With four rivals, δ is 1.03 s for 20 runs and 1.54 s for ten. Over many cells even an equal strategy fails in
some: it is at least as good *everywhere* if it is worse nowhere, and passes in as many cells as an equal one does 19
times in 20.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import Literal

import numpy as np
import numpy.typing as npt

from engram.errors import InvalidInputError, MissingExtraError
from engram.lab.statistics import FEWEST, difference
from engram.typing import Array, Doubles

try:
    from scipy import special, stats
except ModuleNotFoundError as error:
    raise MissingExtraError('margins need scipy: pip install "engram-rl[report]"') from error

ERROR = 0.05  # how often a candidate may pass that is behind by the margin
ENOUGH = 0.8  # how often one passes that is equal to the best rival
DRAWS = 20_000  # of cells in which all are alike
Word = Literal["at least as good", "worse", "open"]
GOOD: Word = "at least as good"
WORSE: Word = "worse"
OPEN: Word = "open"
Scores = Mapping[str, Array]  # by strategy, one score per seed


@dataclass(frozen=True)
class Gap:
    """How a candidate compares with one rival in a cell."""

    rival: str
    estimate: float  # mean of the candidate − mean of the rival
    low: float  # its one-sided 95 % bound
    margin: float  # δ
    below: bool  # beyond chance
    above: bool  # beyond chance

    @property
    def passes(self) -> bool:
        """Whether the candidate is at least as good, but for the margin."""
        return self.low >= -self.margin


@dataclass(frozen=True)
class Comparison:
    """How a candidate compares with all rivals in a cell."""

    gaps: tuple[Gap, ...]

    @property
    def word(self) -> Word:
        """What is found."""
        if all(gap.passes for gap in self.gaps):
            return GOOD
        return WORSE if any(gap.below for gap in self.gaps) else OPEN

    @property
    def better(self) -> bool:
        """Whether the candidate is above a rival beyond chance, and at least as good as all."""
        return self.word == GOOD and any(gap.above for gap in self.gaps)

    @property
    def closest(self) -> Gap:
        """The rival that speaks most against the candidate: the one with the least room left."""
        return min(self.gaps, key=lambda gap: (gap.low + gap.margin, gap.estimate))


@cache
def margin_factor(count: int, rivals: int) -> float:
    """f, for `count` runs of each strategy."""
    if count < FEWEST or rivals < 1:
        raise InvalidInputError(f"a margin needs at least {FEWEST} runs and a rival, got {count} and {rivals}")
    scores = np.random.default_rng(0).standard_normal((DRAWS, 1 + rivals, count))  # the candidate's first
    means, variances = scores.mean(axis=2), scores.var(axis=2, ddof=1)
    ours, theirs = variances[:, :1], variances[:, 1:]
    freedom = (ours + theirs) ** 2 * (count - 1) / (ours**2 + theirs**2)  # Welch and Satterthwaite
    half = special.stdtrit(freedom, 1 - ERROR) * np.sqrt((ours + theirs) / count)
    low = means[:, :1] - means[:, 1:] - half
    best = np.take_along_axis(theirs, means[:, 1:].argmax(axis=1)[:, None], axis=1)
    needed = (-low / np.sqrt((best + theirs) / 2)).max(axis=1)
    return float(np.quantile(needed, ENOUGH))


def margins(rivals: Scores, *, least: float = 0.0) -> dict[str, float]:
    """By rival, the margin; no less than a difference that matters to nobody."""
    best = max(rivals, key=lambda name: (float(np.mean(rivals[name])), name))
    spread = {name: float(np.std(scores, ddof=1)) for name, scores in rivals.items()}
    factor = margin_factor(min(map(len, rivals.values())), len(rivals))
    return {name: max(least, factor * sqrt((spread[best] ** 2 + spread[name] ** 2) / 2)) for name in rivals}


def compare(candidate: npt.ArrayLike, rivals: Scores, *, least: float = 0.0, cells: int = 1) -> Comparison:
    """How a candidate compares with its rivals in one of so many cells."""
    gaps = []
    for name, margin in margins(rivals, least=least).items():
        near = difference(candidate, rivals[name], level=1 - 2 * ERROR)
        far = difference(candidate, rivals[name], level=1 - ERROR / (cells * len(rivals)))
        gaps.append(Gap(name, near.estimate, near.low, margin, below=far.below(0), above=far.above(0)))
    return Comparison(tuple(gaps))


def passes_of_an_equal(cells: int) -> int:
    """In how many of these cells a strategy that is equal to the best rival passes at least, 19 times in 20."""
    return int(stats.binom.ppf(ERROR, cells, ENOUGH))


def is_good_everywhere(words: Sequence[Word]) -> bool:
    """Whether what is found in all cells is what is found of an equal strategy."""
    return len(words) > 0 and WORSE not in words and words.count(GOOD) >= passes_of_an_equal(len(words))


def chance_of_passing(
    means: Doubles,  # [rivals]
    deviations: Doubles,  # [rivals]
    count: int,
    *,
    behind: float = 0.0,
    draws: int = 1000,
    seed: int = 0,
) -> float:
    """How often a candidate passes in a cell that is as the best rival, but so far behind it.

    Scores are normal, with these means and deviations and `count` runs of each strategy.
    """
    rng, best = np.random.default_rng(seed), int(np.argmax(means))
    passed = 0
    for _ in range(draws):
        scores = rng.normal(means, deviations, (count, len(means))).T  # [rivals, count]
        candidate = rng.normal(means[best] - behind, deviations[best], count)
        passed += compare(candidate, {str(i): each for i, each in enumerate(scores)}).word == GOOD
    return passed / draws
