"""How much memory a score needs: where the mean score, as a function of the memory size, first reaches it."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from engram.typing import Array


class Needed(NamedTuple):
    """Scores that were reached, from the lowest to the highest, and the memory that each needs."""

    scores: Array  # [P]
    sizes: Array  # [P], entries per action


def needed_memory(means: Mapping[int, float]) -> Needed:
    """The corners of the line of memory needed, given the mean score at each size.

    Between two corners it is straight over the logarithm of the size. Where a larger memory scores no higher, the line
    jumps: any more than the score of the plateau needs more memory than all of the plateau.
    """
    sizes = sorted(means)
    reached = np.maximum.accumulate([means[size] for size in sizes])
    corners = np.unique(reached)
    levels = np.sort(np.concatenate([corners, np.nextafter(corners[:-1], np.inf)]))  # each, and a bit more than it
    return Needed(levels, np.exp(first_reached(levels, reached, np.log(sizes))))


def first_reached(targets: Array, curves: Array, x: Array) -> Array:
    """Where each curve [..., N] over x [N], which never falls, first reaches its targets [..., M]: [..., M].

    Between two points a curve is straight. A target below the curve is reached at its beginning, one above it at its
    end.
    """
    at = (curves[..., None, :] < targets[..., None]).sum(axis=-1)  # the first point that is enough
    right = np.clip(at, min(1, len(x) - 1), len(x) - 1)
    left = np.maximum(right - 1, 0)
    low, high = (np.take_along_axis(curves, each, axis=-1) for each in (left, right))
    rise = high - low
    part = np.where(rise > 0, (targets - low) / np.where(rise > 0, rise, 1), 1.0)
    between = x[left] + np.clip(part, 0, 1) * (x[right] - x[left])
    found: Array = np.where(at == 0, x[0], np.where(at == len(x), x[-1], between))
    return found
