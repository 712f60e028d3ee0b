"""The hash index against a dict: the lowest slot of every state, whatever is inserted and removed."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engram.memory import hash_index
from tests.examples import examples

CAPACITY = 12
STEPS = st.lists(st.tuples(st.integers(0, CAPACITY - 1), st.integers(0, 5)), max_size=60)


@examples(300)
@given(steps=STEPS, spread=st.integers(1, 2**40))
def test_the_lowest_slot_of_every_state_is_found(steps: list[tuple[int, int]], spread: int) -> None:
    buckets = np.zeros(hash_index.buckets_for(CAPACITY), np.int32)
    states = np.zeros(CAPACITY, np.uint64)
    size = 0
    for slot, name in steps:
        place = min(slot, size)
        if place < size:
            hash_index.remove(buckets, states, size, place)
        else:
            size += 1
        states[place] = name * spread
        hash_index.insert(buckets, states, place)
        for state in range(6):
            held = np.flatnonzero(states[:size] == np.uint64(state * spread))
            expected = held[0] if len(held) else hash_index.EMPTY
            assert hash_index.find(buckets, states, np.uint64(state * spread)) == expected
        assert hash_index.finds_all(buckets, states[:size])
        assert np.count_nonzero(buckets) == len(set(states[:size].tolist()))
