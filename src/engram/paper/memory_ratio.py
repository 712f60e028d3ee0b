"""How many times DkM's memory LRU needs for the same score."""

from collections.abc import Sequence

import numpy as np

from engram.lab.evidence import Evidence
from engram.lab.statistics import Interval, stratified_bootstrap
from engram.typing import Array


def memory_ratio(evidence: Evidence, env: str, agent: str, level: float) -> Interval | None:
    """How many times the memory LRU needs for DkM's score: the median over DkM's sizes, by bootstrap over seeds.

    LRU's mean score is interpolated over the logarithm of the size, never falling; a score that LRU reaches at no
    size counts as its largest, so that the ratio is at least what is said.
    """
    sizes = evidence.sizes(env, agent)
    lru = {size: evidence.scores(env, agent, "lru", size) for size in sizes}
    dkm = {size: evidence.scores(env, agent, "dkm", size) for size in sizes if size * 10 <= max(sizes, default=0)}
    if not dkm or any(scores is None for scores in (*lru.values(), *dkm.values())):
        return None
    logs, wanted = np.log(sizes), np.log(list(dkm))

    def ratio(theirs: Sequence[Array], ours: Sequence[Array]) -> Array:
        reached = np.maximum.accumulate(np.stack([each.mean(axis=-1) for each in theirs], -1), axis=-1)  # [R, sizes]
        target = np.stack([each.mean(axis=-1) for each in ours], -1)  # [R, sizes of DkM]
        ratios: Array = np.exp(np.median(first_reached(target, reached, logs) - wanted, axis=-1))
        return ratios

    return stratified_bootstrap(
        ratio, [np.asarray(s) for s in lru.values()], [np.asarray(s) for s in dkm.values()], level=level
    )


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
