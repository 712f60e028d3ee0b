"""Which state an observation is: a hash of its canonical bytes."""

import numpy as np
from xxhash import xxh64_intdigest

from engram.hashing import state_of, states_of
from engram.xxh64 import xxh64


def test_equal_observations_are_one_state() -> None:
    observation = np.array([[1.5, 0.0, -2.0], [0.0, 3.0, 4.0]], np.float32)
    state = state_of(observation)
    assert state_of(np.where(observation == 0, -observation, observation)) == state  # −0 is 0
    assert state_of(observation.astype(">f4")) == state
    assert state_of(np.asfortranarray(observation)) == state
    assert state_of(np.repeat(observation, 2, axis=1)[:, ::2]) == state
    assert states_of(np.stack([observation, observation])).tolist() == [state, state]
    assert states_of(observation).tolist() == [state_of(row) for row in observation]
    frame = np.arange(12, dtype=np.int32)
    assert state_of(frame.astype(">i4")) == state_of(frame)


def test_different_observations_are_different_states() -> None:
    zeros = [np.zeros(size, np.float32) for size in range(1, 20)]
    ones = [np.eye(19, dtype=np.float32)[i] for i in range(19)]
    frames = [np.full((2, 2), level, np.uint8) for level in range(1, 256)]
    states = [state_of(observation) for observation in (*zeros, *ones, *frames)]
    assert len(set(states)) == len(states)


def test_states_have_the_same_names_in_every_version() -> None:
    """XXH64 with seed 0 of the little-endian bytes: part of the file format."""
    assert state_of(np.array([], np.float32)) == 0xEF46DB3751D8E999  # the specification's value for no bytes
    assert state_of(np.frombuffer(b"abc", np.uint8)) == 0x44BC2CF5AD770999  # the specification's "abc"
    assert state_of(np.array([1.5, -0.0, -2.0, 0.25], np.float32)) == 0x89846C29155A4D6D
    rows = np.arange(8, dtype=np.float64).reshape(2, 4)
    assert states_of(rows).tolist() == [0x1BF5B6339BCAB231, 0xE57A62A72C4EE33F]


def test_the_hash_in_kernels_is_the_same() -> None:
    rng = np.random.default_rng(0)
    for size in (*range(70), 127, 128, 380, 1000):
        data = rng.integers(0, 256, size, np.uint8)
        for seed in (0, 1, 2**64 - 1):
            assert int(xxh64(data, np.uint64(seed))) == xxh64_intdigest(data.tobytes(), seed)
