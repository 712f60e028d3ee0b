"""The compiled rules of all built-in strategies, behind one name each."""

from typing import NamedTuple

from engram.compiling import compiled
from engram.memory.strategies import dkm, fading, kmeans, lru, rew, sur
from engram.memory.strategies.base import BuiltIn, Decision, Write

LRU = lru.LeastRecentlyUsed.code
REW = rew.MaximiseRewards.code
SUR = sur.MaximiseSurprise.code
KMEANS = kmeans.KMeans.code
DKM = dkm.DynamicKMeans.code


class Rules(NamedTuple):
    """A built-in strategy, as kernels see it."""

    code: int
    settings: tuple[float, float]
    needs_nearest: bool
    needs_estimate: bool
    clusters: bool
    ordered: bool


def rules_of(strategy: BuiltIn) -> Rules:
    """What the kernels must know of a strategy."""
    return Rules(
        strategy.code,
        strategy.settings(),
        strategy.needs_nearest,
        strategy.needs_estimate,
        strategy.clusters,
        strategy.ordered,
    )


@compiled
def rank_stored(rules: Rules, write: Write) -> float:
    """The rank of an entry that was just stored."""
    if rules.code == LRU:
        return lru.stored(write, rules.settings)
    if rules.code == REW:
        return rew.stored(write, rules.settings)
    if rules.code == SUR:
        return sur.stored(write, rules.settings)
    if rules.code == KMEANS:
        return kmeans.stored(write, rules.settings)
    if rules.code == DKM:
        return dkm.stored(write, rules.settings)
    return fading.stored(write, rules.settings)


@compiled
def rank_renewed(rules: Rules, rank: float, value: float, write: Write) -> float:
    """The rank of an entry that was just met again or blended into."""
    if rules.code == LRU:
        return lru.renewed(rank, value, write, rules.settings)
    if rules.code == REW:
        return rew.renewed(rank, value, write, rules.settings)
    if rules.code == SUR:
        return sur.renewed(rank, value, write, rules.settings)
    if rules.code == KMEANS:
        return kmeans.renewed(rank, value, write, rules.settings)
    if rules.code == DKM:
        return dkm.renewed(rank, value, write, rules.settings)
    return fading.renewed(rank, value, write, rules.settings)


@compiled
def when_full(rules: Rules, write: Write) -> Decision:
    """What becomes of a state that finds its table full."""
    if rules.code == LRU:
        return lru.when_full(write, rules.settings)
    if rules.code == REW:
        return rew.when_full(write, rules.settings)
    if rules.code == SUR:
        return sur.when_full(write, rules.settings)
    if rules.code == KMEANS:
        return kmeans.when_full(write, rules.settings)
    if rules.code == DKM:
        return dkm.when_full(write, rules.settings)
    return fading.when_full(write, rules.settings)
