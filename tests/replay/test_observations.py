"""The ring buffers of observations against a list that keeps everything."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import checks
from engram.errors import InvalidInputError
from engram.files.arrays import split
from engram.files.rows import Rows
from engram.replay.observations import (
    FrameObservations,
    Observations,
    PlainObservations,
    make_observations,
)
from engram.typing import Array

STACK = 3
SHAPE = (STACK, 2, 3)


def random_stacks(kinds: list[str], seed: int) -> list[Array]:
    """Stacks that continue the one before, repeat it, or are new; of two grey levels, so that frames coincide."""
    rng = np.random.default_rng(seed)
    stacks = [rng.integers(0, 2, SHAPE, np.uint8)]
    for kind in kinds:
        new = rng.integers(0, 2, SHAPE, np.uint8)
        if kind == "goes on":
            new[:-1] = stacks[-1][1:]
        elif kind == "repeats":
            new = stacks[-1].copy()
        stacks.append(new)
    return stacks


def frames_added(stacks: list[Array]) -> list[int]:
    """How many frames each observation adds to the buffer."""
    added = [STACK]
    for before, after in pairwise(stacks):
        goes_on, repeats = (before[1:] == after[:-1]).all(), (before == after).all()
        added.append(1 if goes_on else 0 if repeats else STACK)
    return added


def assert_holds(ring: Observations, added: list[Array], oldest: int) -> None:
    """The buffer returns everything from `oldest` on, one by one and together."""
    assert (ring.oldest, ring.newest) == (oldest, len(added) - 1)
    numbers = np.arange(oldest, len(added))
    found = ring.get(numbers)
    assert found.dtype == ring.dtype
    np.testing.assert_array_equal(found, np.array(added[oldest:], ring.dtype).reshape(-1, *ring.shape))
    for number in numbers:
        np.testing.assert_array_equal(ring.get(np.array([number]))[0], added[number])
    ring.check_valid()


@given(
    capacity=st.integers(1, 12),
    count=st.integers(1, 40),
    dtype=st.sampled_from([np.float32, np.float64, np.uint8, np.int64]),
    shape=st.sampled_from([(4,), (1,), (2, 2), (9, 2, 2), (1, 2, 2)]),
)
def test_a_plain_buffer_keeps_the_last_ones(capacity: int, count: int, dtype: Any, shape: tuple[int, ...]) -> None:
    ring = make_observations(shape, dtype, capacity)
    assert isinstance(ring, PlainObservations)
    added: list[Array] = []
    rng = np.random.default_rng(0)
    for number in range(count):
        added.append(rng.integers(0, 200, shape).astype(dtype))
        assert ring.add(added[-1]) == number
        assert_holds(ring, added, max(0, number + 1 - capacity))


@given(
    capacity=st.integers(1, 40),
    kinds=st.lists(st.sampled_from(["goes on", "goes on", "goes on", "begins", "repeats"]), max_size=60),
    seed=st.integers(0, 5),
)
def test_stacks_are_returned_as_they_were_added(capacity: int, kinds: list[str], seed: int) -> None:
    ring = make_observations(SHAPE, np.uint8, capacity)
    assert isinstance(ring, FrameObservations)
    stacks = random_stacks(kinds, seed)
    written = np.cumsum(frames_added(stacks))
    room = capacity + capacity // 32 + STACK
    for number, stack in enumerate(stacks):
        buffer = stack.copy()
        assert ring.add(buffer) == number
        buffer[...] = 99  # an environment may use its arrays again
        whole = written[: number + 1] - STACK >= written[number] - room  # its first frame is among the last `room`
        assert_holds(ring, stacks[: number + 1], max(int(np.argmax(whole)), number + 1 - capacity))


def test_each_frame_is_stored_once() -> None:
    ring = make_observations((4, 84, 84), np.uint8, 1000)
    frames = np.random.default_rng(0).integers(0, 255, (503, 84, 84), np.uint8)
    for t in range(500):
        ring.add(frames[t : t + 4])
    np.testing.assert_array_equal(ring.state_dict()["frames"].array, frames)
    assert ring.nbytes < 1.05 * 1000 * 84 * 84


@pytest.mark.parametrize("shape", [(84, 84), (9, 84, 84), (84, 84, 3), (1, 84, 84), (128,)])
def test_other_images_are_stored_whole(shape: tuple[int, ...]) -> None:
    assert isinstance(make_observations(shape, np.uint8, 2), PlainObservations)


@given(
    kinds=st.lists(st.sampled_from(["goes on", "goes on", "begins", "repeats"]), min_size=1, max_size=40),
    capacity=st.integers(2, 20),
    cut=st.floats(0, 1),
    since=st.integers(0, 50),
    vectors=st.booleans(),
)
def test_a_restored_buffer_continues_exactly(
    kinds: list[str], capacity: int, cut: float, since: int, vectors: bool
) -> None:
    added = random_stacks(kinds, 1)
    shape: tuple[int, ...] = SHAPE
    if vectors:
        shape, added = (int(np.prod(SHAPE)),), [stack.ravel() for stack in added]
    whole, part = (make_observations(shape, np.uint8, capacity) for _ in range(2))
    first, rest = added[: int(cut * len(added))], added[int(cut * len(added)) :]
    for _ in range(3):
        part.add(added[0])  # content that loading must replace
    for observation in first:
        whole.add(observation)
    state = whole.state_dict(since)
    part.load_state_dict(state)
    part.check_valid()
    assert part.oldest == max(whole.oldest, min(since, whole.newest))
    for observation in rest:
        whole.add(observation)
        part.add(observation)
    ours, theirs = part.state_dict(part.oldest), whole.state_dict(part.oldest)
    assert ours.keys() == theirs.keys()
    for (name, our), (_, their) in zip(split(ours)[0].items(), split(theirs)[0].items(), strict=True):
        np.testing.assert_array_equal(our, their, err_msg=name)


def test_too_little_memory_is_refused_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "available_memory", lambda: 3 * 2**30)
    make_observations((4, 84, 84), np.uint8, 300_000)
    message = r"a replay of 1,000,000 observations takes 7\.3 GB, and 3\.2 GB of memory are .* smaller replay_size"
    with pytest.raises(InvalidInputError, match=message):
        make_observations((4, 84, 84), np.uint8, 1_000_000)
    monkeypatch.setattr(checks, "available_memory", lambda: None)
    make_observations((4, 84, 84), np.uint8, 1_000_000)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"frames": Rows(8, np.zeros((9, 5, 5), np.uint8))}, "frames have shape"),
        ({"newest": 2}, "no more is stored than was added"),
        (
            {"frames": Rows(4, np.zeros((7, 2, 3), np.uint8))},
            "frames of every observation are stored, and no others",
        ),
        (
            {"frames": Rows(100, np.zeros((7, 2, 3), np.uint8))},
            "frames of every observation are stored, and no others",
        ),
        ({"last": np.array([2, 4, 5, 6, 7])}, "each adds none, one or all of its frames"),
        ({"last": np.array([2, 3, 4, 5, 5])}, "the newest observation has the newest frame"),
    ],
)
def test_damaged_frames_are_refused(change: dict[str, Any], message: str) -> None:
    ring = make_observations(SHAPE, np.uint8, 20)
    for stack in random_stacks(["goes on"] * 4, 0):
        ring.add(stack)
    with pytest.raises(InvalidInputError, match=message):
        damage(make_observations(SHAPE, np.uint8, 20), ring.state_dict(), change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"observations": Rows(3, np.zeros((3, 5)))}, "observations have shape"),
        ({"newest": 1}, "the last row is the newest observation"),
        ({"observations": Rows(3, np.full((3, 4), np.nan, np.float32))}, "observations are finite"),
    ],
)
def test_damaged_vectors_are_refused(change: dict[str, Any], message: str) -> None:
    ring = make_observations((4,), np.float32, 20)
    for _ in range(3):
        ring.add(np.zeros(4, np.float32))
    with pytest.raises(InvalidInputError, match=message):
        damage(make_observations((4,), np.float32, 20), ring.state_dict(), change)


def test_infinity_as_a_short_float_is_refused() -> None:
    ring = make_observations((4,), np.float16, 20)
    ring.add(np.full(4, np.finfo(np.float16).max, np.float16))
    ring.check_valid()
    ring.add(np.full(4, np.inf, np.float16))
    with pytest.raises(InvalidInputError, match="observations are finite"):
        ring.check_valid()


def damage(ring: Observations, state: dict[str, Any], change: dict[str, Any]) -> None:
    ring.load_state_dict(state | change)
    ring.check_valid()
