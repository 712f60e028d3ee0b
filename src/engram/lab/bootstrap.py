"""Totals over many environments (strata), with intervals by a bootstrap that draws runs within each environment.

Of the n runs of an environment n − 1 are drawn, with replacement: a mean of n drawn ones would vary less than the mean
itself does, by the factor (n − 1)/n, which matters where n is 3 or 5 (Rao and Wu 1988). Environments are not drawn: the
intervals tell how far other seeds would move a total, not what other environments would give.
"""

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from engram.errors import InvalidInputError
from engram.lab.statistics import FEWEST, Interval, interquartile_mean
from engram.typing import Doubles

DRAWS = 2_000
Total = Callable[[Sequence[Doubles]], Doubles]  # of the strata, each [draws, runs], → [draws]


def mean_of_means(strata: Sequence[Doubles]) -> Doubles:
    """The mean over strata of their mean over runs."""
    return np.asarray(_means(strata).mean(axis=1))


def median_of_means(strata: Sequence[Doubles]) -> Doubles:
    """The median over strata of their mean over runs."""
    return np.asarray(np.median(_means(strata), axis=1))


def interquartile_mean_of_runs(strata: Sequence[Doubles]) -> Doubles:
    """The mean of the middle half of all runs of all strata put together."""
    return interquartile_mean(np.concatenate(strata, axis=1), axis=1)


def bootstrap(strata: Sequence[Doubles], total: Total, *, level: float = 0.95, draws: int = DRAWS) -> Interval:
    """A total over strata, each [runs], with its percentile interval; none where a stratum has too few runs."""
    if not strata:
        raise InvalidInputError("a total needs at least one stratum of scores, got none")
    estimate = float(total([np.atleast_2d(scores) for scores in strata])[0])
    if min(map(len, strata)) < FEWEST:
        return Interval(-inf, estimate, inf)
    rng = np.random.default_rng(0)
    drawn = total([scores[rng.integers(len(scores), size=(draws, len(scores) - 1))] for scores in strata])
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return Interval(min(low, estimate), estimate, max(high, estimate))


def _means(strata: Sequence[Doubles]) -> Doubles:
    """[draws, strata]."""
    return np.stack([scores.mean(axis=1) for scores in strata], axis=1)
