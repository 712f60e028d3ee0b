"""The compiled rules of all built-in strategies behind one name each."""

from engram.compiling import compiled
from engram.memory.strategies import dkm, kmeans, lru, rew, sur
from engram.memory.strategies.base import Decision, Write

LRU = lru.LeastRecentlyUsed.code
REW = rew.MaximiseRewards.code
SUR = sur.MaximiseSurprise.code
KMEANS = kmeans.KMeans.code

Settings = tuple[float, float]


@compiled
def stored(code: int, write: Write, settings: Settings) -> float:
    """The rank of an entry that was just stored."""
    if code == LRU:
        return lru.stored(write, settings)
    if code == REW:
        return rew.stored(write, settings)
    if code == SUR:
        return sur.stored(write, settings)
    if code == KMEANS:
        return kmeans.stored(write, settings)
    return dkm.stored(write, settings)


@compiled
def renewed(code: int, rank: float, value: float, write: Write, settings: Settings) -> float:
    """The rank of an entry that was just met again or blended into."""
    if code == LRU:
        return lru.renewed(rank, value, write, settings)
    if code == REW:
        return rew.renewed(rank, value, write, settings)
    if code == SUR:
        return sur.renewed(rank, value, write, settings)
    if code == KMEANS:
        return kmeans.renewed(rank, value, write, settings)
    return dkm.renewed(rank, value, write, settings)


@compiled
def when_full(code: int, write: Write, settings: Settings) -> Decision:
    """What becomes of a state that finds its table full."""
    if code == LRU:
        return lru.when_full(write, settings)
    if code == REW:
        return rew.when_full(write, settings)
    if code == SUR:
        return sur.when_full(write, settings)
    if code == KMEANS:
        return kmeans.when_full(write, settings)
    return dkm.when_full(write, settings)
