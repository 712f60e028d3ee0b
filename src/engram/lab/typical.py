"""What runs typically score, over one or more memory sizes: which kind of mean says it, and with which interval.

The interquartile mean is hardly moved by single runs that are far from the others. But of scores that are shares, of
goals reached say, most are 0 or 1: then it is 0 or 1 too, and its interval has no width. Their mean is taken instead.
"""

from collections.abc import Collection, Iterable
from math import isfinite

import numpy as np

from engram.lab.statistics import Interval, interquartile_interval, share_interval, total, weighted_terms
from engram.typing import Array

INTERQUARTILE, MEAN = "interquartile mean", "mean"  # what it is called


def are_shares(samples: Iterable[Array]) -> bool:
    """Whether all scores lie between 0 and 1."""
    every = np.concatenate([np.asarray(scores, np.float64) for scores in samples])
    return bool(every.min() >= 0 and every.max() <= 1)


def average(samples: Collection[Array], *, shares: bool) -> Interval:
    """The mean over sizes of the mean scores; the interval of shares stays between 0 and 1.

    At one size it has a width also where all scores are 0, or all are 1.
    """
    if shares and len(samples) == 1:
        return share_interval(*samples)
    low, estimate, high = total(weighted_terms((1 / len(samples), scores) for scores in samples))
    bounded = shares and isfinite(high)
    return Interval(max(low, 0.0), estimate, min(high, 1.0)) if bounded else Interval(low, estimate, high)


def typical(samples: Collection[Array], *, shares: bool) -> Interval:
    """The interquartile mean of all scores, or of shares their mean."""
    return average(samples, shares=True) if shares else interquartile_interval(samples)
