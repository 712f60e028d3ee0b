"""Both replay buffers against lists: episodes that end, are truncated or abandoned, and buffers that wrap around."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import InvalidInputError
from engram.files.arrays import join, split
from engram.replay.returns import ReturnReplay
from engram.replay.transitions import Batch, TransitionReplay
from engram.typing import Array, Longs

Replay = TransitionReplay | ReturnReplay
STACK = (2, 3, 3)
ENDS = st.sampled_from(["terminated", "truncated", "abandoned"])
EPISODES = st.lists(st.tuples(st.integers(1, 9), ENDS), max_size=12)


class All(np.random.Generator):
    """A generator that draws every number of the range once, in order."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(0))

    def integers(self, low: Any, high: Any = None, *_: Any, **__: Any) -> Longs:  # type: ignore[override]
        return np.arange(low, high)


class World:
    """Episodes in which no two observations are equal, as vectors or as stacks of frames."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.dtype = np.float32 if len(shape) == 1 else np.uint8
        self._time = 0
        self._stack = np.zeros(shape, self.dtype)

    def begin(self) -> Array:
        self._time += 1
        self._stack[...] = self._time % 256
        return self._stack.copy()

    def step(self) -> Array:
        self._time += 1
        if len(self.shape) > 1:
            self._stack[:-1] = self._stack[1:].copy()
        self._stack[-1] = self._time % 256
        return self._stack.copy()

    def make(self, kind: type[Replay], capacity: int) -> Any:
        return kind(capacity, self.shape, self.dtype)


def play(
    replay: TransitionReplay, world: World, length: int, end: str, expected: list[tuple[Any, ...]] | None = None
) -> None:
    """One episode; what it should have stored is added to `expected`."""
    observation = world.begin()
    replay.begin(observation)
    for t in range(length):
        following = world.step()
        last = t == length - 1
        flags = last and end == "terminated", last and end == "truncated"
        replay.add(t, t / 8, following, terminated=flags[0], truncated=flags[1])
        if expected is not None:
            expected.append((observation, t, t / 8, following, *flags))
        observation = following
        assert replay.in_episode == (not any(flags))
    replay.abandon()


def assert_equal_rows(found: Any, expected: list[tuple[Any, ...]]) -> None:
    assert len(found[0]) == len(expected)
    for column, values in zip(found[:6], zip(*expected, strict=True), strict=True):
        np.testing.assert_array_equal(column, np.array(values))


def assert_same(one: Any, other: Any) -> None:
    (arrays, plain), (other_arrays, other_plain) = split(one.state_dict()), split(other.state_dict())
    assert plain == other_plain
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        assert array.dtype == other_arrays[name].dtype
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


def through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    arrays, plain = split(state)
    return join({name: array.copy() for name, array in arrays.items()}, json.loads(json.dumps(plain)))


@given(capacity=st.integers(1, 25), episodes=EPISODES)
def test_the_last_transitions_are_sampled_as_they_were_added(capacity: int, episodes: list[tuple[int, str]]) -> None:
    world = World((3,))
    replay, expected = world.make(TransitionReplay, capacity), list[tuple[Any, ...]]()
    for length, end in episodes:
        play(replay, world, length, end, expected)
        assert len(replay) == min(capacity, len(expected))
        batch = replay.sample(All(), 0)
        assert_equal_rows(batch, expected[-capacity:])
        dtypes = [np.float32, np.int64, np.float32, np.float32, np.bool_, np.bool_]
        assert [column.dtype for column in batch[:6]] == dtypes
        replay.check_valid()


@given(capacity=st.integers(1, 80), episodes=EPISODES)
def test_transitions_of_frames_lose_only_the_oldest(capacity: int, episodes: list[tuple[int, str]]) -> None:
    """Short episodes need more frames than there is room for; what can be sampled is complete all the same."""
    world = World(STACK)
    replay, expected = world.make(TransitionReplay, capacity), list[tuple[Any, ...]]()
    for length, end in episodes:
        play(replay, world, length, end, expected)
        assert len(replay) <= min(capacity, len(expected))
        steps, starts = len(expected), len(episodes)
        if steps + starts <= capacity and steps + 2 * starts <= capacity:
            assert len(replay) == steps
        if len(replay):
            assert_equal_rows(replay.sample(All(), 0), expected[-len(replay) :])
        replay.check_valid()


@given(capacity=st.integers(1, 25), episodes=EPISODES, frames=st.booleans())
def test_states_are_sampled_once_their_episode_is_finished(
    capacity: int, episodes: list[tuple[int, str]], frames: bool
) -> None:
    world = World(STACK if frames else (3,))
    replay = world.make(ReturnReplay, capacity)
    everything: list[tuple[Any, ...] | None] = []  # by observation; None: never to be sampled
    for length, end in episodes:
        steps: list[tuple[Any, ...]] = []
        for t in range(length):
            observation = world.step() if t else world.begin()
            replay.add(observation, t)
            steps.append((observation, t, np.float32(t + length / 7)))
            there = [row for row in (everything + [None] * (t + 1))[-capacity:] if row is not None]
            assert len(replay) == len(there) if not frames else len(replay) <= len(there)
        if end == "abandoned":
            replay.abandon()
            everything += [None] * length
        else:
            replay.finish(np.array([row[2] for row in steps], np.float32))
            everything += steps
        there = [row for row in everything[-capacity:] if row is not None]
        assert len(replay) == len(there) if not frames else len(replay) <= len(there)
        if len(replay):
            assert_equal_rows(replay.sample(All(), 0), there[-len(replay) :])
        replay.check_valid()


@given(
    capacity=st.integers(1, 25),
    before=EPISODES,
    unfinished=st.integers(0, 30),
    after=EPISODES,
    frames=st.booleans(),
    end=ENDS,
)
def test_a_restored_transition_replay_continues_exactly(
    capacity: int, before: list[tuple[int, str]], unfinished: int, after: list[tuple[int, str]], frames: bool, end: str
) -> None:
    """The state is saved between two steps of an episode."""
    worlds = World(STACK if frames else (3,)), World(STACK if frames else (3,))
    whole, part = (world.make(TransitionReplay, capacity) for world in worlds)
    for replay, world in zip((whole, part), worlds, strict=True):
        for length, how in before:
            play(replay, world, length, how)
        replay.begin(world.begin())
        for t in range(unfinished):
            replay.add(t, 1.0, world.step())
    part = worlds[1].make(TransitionReplay, capacity)
    play(part, World(worlds[1].shape), 4, "terminated")  # content that loading must replace
    part.load_state_dict(through_a_file(whole.state_dict()))
    assert part.in_episode
    assert_same(whole, part)
    for replay, world in zip((whole, part), worlds, strict=True):
        replay.add(0, 2.0, world.step(), terminated=end == "terminated", truncated=end == "truncated")
        if end == "abandoned":
            replay.abandon()
        for length, how in after:
            play(replay, world, length, how)
    assert_same(whole, part)
    one, other = (replay.sample(np.random.default_rng(3), 16) for replay in (whole, part))
    for column, same in zip(one, other, strict=True):
        np.testing.assert_array_equal(column, same)


@given(capacity=st.integers(1, 25), before=EPISODES, unfinished=st.integers(0, 30), frames=st.booleans())
def test_a_restored_return_replay_continues_exactly(
    capacity: int, before: list[tuple[int, str]], unfinished: int, frames: bool
) -> None:
    world = World(STACK if frames else (3,))
    whole, part = (world.make(ReturnReplay, capacity) for _ in range(2))
    part.add(world.begin(), 0)
    for length, end in before:
        whole.add(world.begin(), 0)
        for t in range(1, length):
            whole.add(world.step(), t)
        if end == "abandoned":
            whole.abandon()
        else:
            whole.finish(np.arange(length, dtype=np.float32))
    for t in range(unfinished):
        whole.add(world.step(), t)
    part.load_state_dict(through_a_file(whole.state_dict()))
    assert_same(whole, part)
    for _ in range(3):
        observation = world.step()
        for replay in (whole, part):
            replay.add(observation, 1)
    for replay in (whole, part):
        replay.finish(np.arange(unfinished + 3, dtype=np.float32))
    assert_same(whole, part)
    one, other = (replay.sample(np.random.default_rng(3), 16) for replay in (whole, part))
    for column, same in zip(one, other, strict=True):
        np.testing.assert_array_equal(column, same)


def test_sampling_is_uniform_and_decided_by_the_generator() -> None:
    world = World((2,))
    replay = world.make(TransitionReplay, 50)
    for _ in range(10):
        play(replay, world, 9, "terminated")
    drawn = replay.sample(np.random.default_rng(0), 50_000).observations[:, -1]
    counts = np.unique(drawn, return_counts=True)[1]
    assert len(counts) == 50
    assert abs(counts - 1000).max() < 5 * np.sqrt(1000)
    one, same, other = (replay.sample(np.random.default_rng(seed), 32) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.observations, same.observations)
    assert (one.observations != other.observations).any()


def test_batches_are_copies() -> None:
    world = World((2,))
    replay = world.make(TransitionReplay, 5)
    play(replay, world, 5, "terminated")
    batch: Batch = replay.sample(All(), 0)
    for column in batch[:6]:
        column[...] = 0
    assert replay.sample(All(), 0).observations.all()


def test_an_episode_after_a_lost_life_stores_no_frame_twice() -> None:
    """An episode that begins with the last observation of the one before shares its frames."""
    world = World((4, 84, 84))
    replay = world.make(TransitionReplay, 100)
    observation = world.begin()
    for _ in range(10):
        replay.begin(observation)
        for t in range(5):
            observation = world.step()
            replay.add(0, 0.0, observation, terminated=t == 4)
    assert len(replay.state_dict()["observations"]["frames"].array) == 4 + 50
    batch = replay.sample(All(), 0)
    np.testing.assert_array_equal(batch.next_observations[:-1], batch.observations[1:])


def test_bytes_per_transition() -> None:
    """(1 + 1/32)² frames or two vectors per transition, and 22 bytes more; for a state with its return 20 more."""
    replay = TransitionReplay(3200, (4, 84, 84), np.uint8)
    assert replay.nbytes < 3200 * 1.08 * 84 * 84
    assert TransitionReplay(1000, (4,), np.float32).nbytes < 1000 * (2 * 16 + 27)
    assert ReturnReplay(1000, (4,), np.float32).nbytes < 1000 * (16 + 21)


@pytest.mark.parametrize("kind", [TransitionReplay, ReturnReplay])
def test_an_empty_replay_and_bad_sizes_are_refused(kind: type[Replay]) -> None:
    with pytest.raises(InvalidInputError, match="replay is empty"):
        kind(5, (3,), np.float32).sample(np.random.default_rng(0), 4)
    with pytest.raises(InvalidInputError, match="replay_size must be at least 1, got 0"):
        kind(0, (3,), np.float32)


def test_returns_of_another_length_are_refused() -> None:
    replay = ReturnReplay(5, (3,), np.float32)
    replay.add(np.zeros(3), 0)
    with pytest.raises(InvalidInputError, match="one value per step, 1, got 2"):
        replay.finish(np.zeros(2, np.float32))


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("entries", {"count": 3}, "no more entries are stored than were added"),
        ("entries", {"rewards": np.full(6, np.nan, np.float32)}, "rewards are finite"),
        ("entries", {"numbers": np.array([0, 1, 2, 3, 3, 4])}, "entries are in order of time"),
        ("entries", {"numbers": np.arange(1, 7)}, "the observations of every entry are stored"),
    ],
)
def test_a_damaged_replay_is_refused(part: str, change: dict[str, Any], message: str) -> None:
    world = World((3,))
    replay = world.make(TransitionReplay, 10)
    play(replay, world, 6, "terminated")
    state = replay.state_dict()
    with pytest.raises(InvalidInputError, match=message):
        replay.load_state_dict(state | {part: state[part] | change})
