"""How many times DkM's memory LRU needs for the same score."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engram.lab.evidence import Evidence
from engram.lab.statistics import Interval, interval_of_means
from engram.typing import Array


@dataclass(frozen=True)
class Runs:
    """The scores of LRU at all sizes, and of DkM at those up to a tenth of the largest, one per seed."""

    lru: Mapping[int, Array]
    dkm: Mapping[int, Array]

    @property
    def fewest(self) -> int:
        """The smallest number of runs of a cell."""
        return min(len(scores) for scores in (*self.lru.values(), *self.dkm.values()))


def runs_of(evidence: Evidence, env: str, agent: str) -> Runs | None:
    """The runs at sizes where tables filled; None if some are missing, or no sizes are ten times apart."""
    sizes = evidence.sizes(env, agent)
    lru = {size: evidence.scores(env, agent, "lru", size) for size in sizes}
    dkm = {size: evidence.scores(env, agent, "dkm", size) for size in sizes if size * 10 <= max(sizes, default=0)}
    if not dkm or any(scores is None for scores in (*lru.values(), *dkm.values())):
        return None
    there = [{size: scores for size, scores in each.items() if scores is not None} for each in (lru, dkm)]
    return Runs(*there)


def memory_ratio(runs: Runs, *, level: float = 0.95) -> Interval:
    """How many times the memory LRU needs for DkM's score: the median over DkM's sizes.

    LRU's mean score is interpolated over the logarithm of the size, never falling; a score that LRU reaches at no
    size counts as its largest, so that the ratio is at least what is said.
    """
    logs, wanted = np.log(list(runs.lru)), np.log(list(runs.dkm))

    def ratio(means: Array) -> Array:
        reached = np.maximum.accumulate(means[..., : len(logs)], axis=-1)  # [..., sizes]
        target = means[..., len(logs) :]  # [..., sizes of DkM]
        ratios: Array = np.exp(np.median(first_reached(target, reached, logs) - wanted, axis=-1))
        return ratios

    return interval_of_means(ratio, [*runs.lru.values(), *runs.dkm.values()], level=level)


def first_reached(targets: Array, curves: Array, x: Array) -> Array:
    """Where each curve [..., N] over x [N], which never falls, first reaches its targets [..., M]: [..., M].

    A target below the curve is reached at its beginning, one above it at its end.
    """
    at = (curves[..., None, :] < targets[..., None]).sum(axis=-1)  # the first point that is enough
    right = np.clip(at, 1, len(x) - 1)
    low, high = (np.take_along_axis(curves, each, axis=-1) for each in (right - 1, right))
    rise = high - low
    part = np.where(rise > 0, (targets - low) / np.where(rise > 0, rise, 1), 1.0)
    between = x[right - 1] + np.clip(part, 0, 1) * (x[right] - x[right - 1])
    found: Array = np.where(at == 0, x[0], np.where(at == len(x), x[-1], between))
    return found
