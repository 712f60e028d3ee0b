"""Which slot holds this state? One hash table per table: open addressing, linear probing, half full at most."""

import numpy as np

from engram.compiling import compiled
from engram.typing import Ints, States, Whole

EMPTY = -1
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, spreads states that are not hashes themselves
HALF = np.uint64(32)


@compiled
def home(buckets: Ints, state: np.uint64) -> np.int64:
    """The bucket in which the search for a state begins."""
    high = (state * GOLDEN) >> HALF
    return np.int64((high * np.uint64(len(buckets))) >> HALF)


@compiled
def find(buckets: Ints, states: States, state: np.uint64) -> np.int64:
    """The slot of a state, or EMPTY."""
    here = home(buckets, state)
    while buckets[here] != EMPTY and states[buckets[here]] != state:
        here = (here + 1) % len(buckets)
    return np.int64(buckets[here])


@compiled
def insert(buckets: Ints, states: States, slot: Whole) -> None:
    """Make the state of a slot findable."""
    here = home(buckets, states[slot])
    while buckets[here] != EMPTY:
        here = (here + 1) % len(buckets)
    buckets[here] = slot


@compiled
def remove(buckets: Ints, states: States, slot: Whole) -> None:
    """Forget the state of a slot, and close the gap so that every later probe still ends where it should."""
    here = home(buckets, states[slot])
    while buckets[here] != slot:
        here = (here + 1) % len(buckets)
    gap = here
    while True:
        here = (here + 1) % len(buckets)
        if buckets[here] == EMPTY:
            break
        start = home(buckets, states[buckets[here]])
        if (here - start) % len(buckets) >= (here - gap) % len(buckets):
            buckets[gap] = buckets[here]
            gap = here
    buckets[gap] = EMPTY
