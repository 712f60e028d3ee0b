"""The hash index from states to slots: one hash table per table, open addressing, linear probing, load ≤ 4/7.

A bucket holds a slot + 1, or 0: zeroed memory is an empty index, and takes no space until it is used.
"""

import numpy as np

from engram.compiling import compiled
from engram.typing import Ints, States, Whole

EMPTY = -1  # no slot
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ / φ, spreads states that are not hashes themselves
HALF = np.uint64(32)


def buckets_for(capacity: int) -> int:
    """The number of buckets for a table of this capacity."""
    return capacity + 3 * capacity // 4 + 1


@compiled
def home(buckets: Ints, state: np.uint64) -> np.int64:
    """The bucket in which the search for a state begins."""
    high = (state * GOLDEN) >> HALF
    return np.int64((high * np.uint64(len(buckets))) >> HALF)


@compiled
def find(buckets: Ints, states: States, state: np.uint64) -> np.int64:
    """The slot of a state, or EMPTY."""
    here = home(buckets, state)
    while buckets[here] != 0 and states[buckets[here] - 1] != state:
        here = (here + 1) % len(buckets)
    return np.int64(buckets[here]) - 1


@compiled
def find_lowest(buckets: Ints, states: States, state: np.uint64) -> np.int64:
    """The lowest slot of a state that may be stored more than once, or EMPTY."""
    lowest = np.int64(EMPTY)
    here = home(buckets, state)
    while buckets[here] != 0:
        slot = np.int64(buckets[here]) - 1
        if states[slot] == state and (lowest < 0 or slot < lowest):
            lowest = slot
        here = (here + 1) % len(buckets)
    return lowest


@compiled
def insert(buckets: Ints, states: States, slot: Whole) -> None:
    """Add the state of a slot to the index."""
    here = home(buckets, states[slot])
    while buckets[here] != 0:
        here = (here + 1) % len(buckets)
    buckets[here] = slot + 1


@compiled
def remove(buckets: Ints, states: States, slot: Whole) -> None:
    """Remove the state of a slot, and move later entries of its run up so that probes still find them."""
    here = home(buckets, states[slot])
    while buckets[here] != slot + 1:
        here = (here + 1) % len(buckets)
    gap = here
    while True:
        here = (here + 1) % len(buckets)
        if buckets[here] == 0:
            break
        start = home(buckets, states[buckets[here] - 1])
        if (here - start) % len(buckets) >= (here - gap) % len(buckets):
            buckets[gap] = buckets[here]
            gap = here
    buckets[gap] = 0
