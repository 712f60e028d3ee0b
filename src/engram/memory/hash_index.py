"""The hash index from states to slots: one hash table per table, open addressing, linear probing, load ≤ 4/7.

A bucket holds a slot + 1, or 0: zeroed memory is an empty index, and takes no space until it is used. Clusters may have
been begun by one state, so that several slots have it. Then one bucket stands for all of them: it holds the lowest, as
−(slot + 1). So a state has one bucket, however many slots have it, and no run of buckets grows long by equal states.
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
def slot_in(bucket: np.int32) -> np.int64:
    """The slot that a bucket holds, or EMPTY."""
    return np.int64(abs(bucket)) - 1


@compiled
def bucket_of(buckets: Ints, states: States, state: np.uint64) -> np.int64:
    """The bucket of a state, or the empty one where it would be."""
    here = home(buckets, state)
    while buckets[here] != 0 and states[slot_in(buckets[here])] != state:
        here = (here + 1) % len(buckets)
    return here


@compiled
def find(buckets: Ints, states: States, state: np.uint64) -> np.int64:
    """The lowest slot of a state, or EMPTY."""
    return slot_in(buckets[bucket_of(buckets, states, state)])


@compiled
def insert(buckets: Ints, states: States, slot: Whole) -> np.int64:
    """Add the state of a slot to the index; return how many buckets were looked at."""
    here = bucket_of(buckets, states, states[slot])
    if buckets[here] == 0:
        buckets[here] = slot + 1
    else:
        buckets[here] = -(min(slot_in(buckets[here]), slot) + 1)
    return (here - home(buckets, states[slot])) % len(buckets) + 1


@compiled
def remove(buckets: Ints, states: States, size: Whole, slot: Whole) -> None:
    """Remove a slot of a table with `size` entries; the next slot with its state, if there is one, takes its place."""
    gap = bucket_of(buckets, states, states[slot])
    if slot_in(buckets[gap]) != slot:
        return
    if buckets[gap] < 0:
        for other in range(slot + 1, size):
            if states[other] == states[slot]:
                buckets[gap] = -(other + 1)
                return
    close(buckets, states, gap)


@compiled
def close(buckets: Ints, states: States, gap: Whole) -> None:
    """Empty a bucket, and move later ones of its run up so that probes still find them."""
    here = gap
    while True:
        here = (here + 1) % len(buckets)
        if buckets[here] == 0:
            break
        start = home(buckets, states[slot_in(buckets[here])])
        if (here - start) % len(buckets) >= (here - gap) % len(buckets):
            buckets[gap] = buckets[here]
            gap = here
    buckets[gap] = 0


@compiled
def finds_all(buckets: Ints, states: States) -> bool:
    """Whether the index finds each of these states of slots 0, 1, …, in its own slot or in a lower one that has it."""
    for slot in range(len(states)):
        found = find(buckets, states, states[slot])
        if not 0 <= found <= slot:
            return False
        if found < slot and buckets[bucket_of(buckets, states, states[slot])] > 0:
            return False
    return True
