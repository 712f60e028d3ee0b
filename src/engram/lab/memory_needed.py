"""How much memory a score needs: where the mean score, as a function of the memory size, first reaches it."""

from collections.abc import Mapping
from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from engram.typing import Array


class Needed(NamedTuple):
    """Scores that were reached, from the lowest to the highest, and the memory that each needs."""

    scores: Array  # [P]
    sizes: Array  # [P], entries per action


def memory_for(means: Mapping[int, float], score: float) -> float:
    """The smallest memory whose mean score is as high, given the means at several sizes; infinite if none is.

    Between two sizes the mean is straight over the logarithm of the size. What the smallest size reaches, it is enough
    for.
    """
    sizes = sorted(means)
    right = next((i for i, size in enumerate(sizes) if means[size] >= score), None)
    if right is None:
        return inf
    if right == 0:
        return float(sizes[0])
    low, high = sizes[right - 1], sizes[right]
    part = (score - means[low]) / (means[high] - means[low])
    return exp(log(low) + part * (log(high) - log(low)))


def needed_memory(means: Mapping[int, float]) -> Needed:
    """The corners of the line of memory needed, given the mean score at each size.

    Between two corners it is straight over the logarithm of the size. Where a larger memory scores no higher, the line
    jumps: any more than the highest score so far needs more memory than all of these sizes.
    """
    first, *larger = sorted(means)
    scores = [means[first]]
    for size in larger:
        if means[size] > scores[-1]:
            scores += [float(np.nextafter(scores[-1], inf)), means[size]]
    return Needed(np.array(scores), np.array([memory_for(means, score) for score in scores]))
