"""Merging an episode's states as one batch, against the slow oracle, and where it must be the usual way of merging."""

import numpy as np
import pytest
from hypothesis import given, settings

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.hashing import states_of
from engram.memory.strategies import Decision, Numbers, Strategy, Write, blend
from tests.memory.strategies.test_built_in import ACTIONS, NAMES, Operation, assert_same, oracle_tables, streams

CLUSTERING = [name for name in NAMES if name.split(":")[0] in ("kmeans", "dkm", "fading")]


class Nearest(Strategy):
    """One in plain Python that merges."""

    needs_nearest = True
    clusters = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return blend(int(write.nearest), 0.5)


def make_memory(name: str, capacity: int, dims: int, merging: str = "episode") -> EpisodicMemory:
    return EpisodicMemory(actions=ACTIONS, key_size=dims, capacity=capacity, strategy=name, merging=merging)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", CLUSTERING)
@settings(max_examples=120, deadline=None)
@given(stream=streams())
def test_episodes_leave_what_the_oracle_has(name: str, stream: tuple[int, int, list[Operation]]) -> None:
    dims, capacity, operations = stream
    memory = make_memory(name, capacity, dims)
    tables = oracle_tables(memory.strategy, capacity)
    for episode in operations:
        memory.write(episode.action, episode.keys, episode.values)
        tables[episode.action].write_episode(episode.keys, episode.values, states_of(episode.keys).tolist())
        assert_same(memory, tables)
        memory.check_valid()


@pytest.mark.parametrize("name", CLUSTERING)
def test_many_long_episodes_replace_in_the_same_order(name: str) -> None:
    """Keys that drift away, and episodes from a single state to several capacities, which use up many counts."""
    rng = np.random.default_rng(7)
    memory = make_memory(name, 23, 3)
    tables = oracle_tables(memory.strategy, 23)
    for episode, length in enumerate(rng.integers(1, 90, size=40)):
        keys = (rng.standard_normal((length, 3)) + episode).astype(np.float32)
        values = rng.standard_normal(length)
        memory.write(0, keys, values)
        tables[0].write_episode(keys, values.astype(np.float32), states_of(keys).tolist())
        assert_same(memory, tables)
    memory.check_valid()
    assert tables[0].replaced or name in ("kmeans", "dkm:decay=0")


@pytest.mark.parametrize("name", CLUSTERING)
def test_episodes_of_one_state_are_merged_as_ever(name: str) -> None:
    rng = np.random.default_rng(3)
    keys, values = rng.standard_normal((300, 2)).astype(np.float32), rng.standard_normal(300).astype(np.float32)
    single, episode = (make_memory(name, 11, 2, merging) for merging in ("single", "episode"))
    for t in range(len(keys)):
        for memory in (single, episode):
            memory.write(t % 2, keys[t : t + 1], values[t : t + 1])
    assert same_state(single, episode)
    for memory in (single, episode):
        memory.write(0, keys, values)
    assert not same_state(single, episode)


def same_state(one: EpisodicMemory, other: EpisodicMemory) -> bool:
    ours, theirs = one.state_dict(), other.state_dict()
    assert ours.keys() == theirs.keys()
    return all(np.array_equal(ours[name], theirs[name]) for name in ours if name != "strategy")


def test_a_cluster_moves_as_far_for_many_states_as_for_one() -> None:
    """(n c + batch mean)/(n + 1), worked out by hand: the mean of 4 and 8 counts once, in n it counts twice."""
    memory = make_memory("dkm", 2, 1)
    memory.write(0, [[0.0], [100.0]], [0.0, 1.0])
    memory.write(0, [[4.0], [8.0]], [2.0, 4.0])
    entries = memory.entries(0)
    assert entries["keys"].ravel().tolist() == [3, 100]  # (1 · 0 + 6)/2
    assert entries["values"].tolist() == [1.5, 1]  # (1 · 0 + 3)/2
    assert entries["n"].tolist() == [2, 0]  # 1 + 2 and 1, and then each loses 2/N
    memory.write(0, [[3.0]], [9.0])
    assert memory.entries(0)["keys"].ravel().tolist() == [3, 3]  # a state met before fills what is used up


@pytest.mark.parametrize("strategy", ["lru", "rew", "sur", Nearest()])
def test_strategies_that_cannot_merge_episodes_are_refused(strategy: str | Strategy) -> None:
    with pytest.raises(InvalidInputError, match=r'"episode" needs.*\(dkm, fading, kmeans\), got .*; choose one'):
        EpisodicMemory(actions=1, key_size=1, capacity=1, strategy=strategy, merging="episode")
    with pytest.raises(InvalidInputError, match=r"merging must be one of 'single', 'episode', got 'episodes'"):
        make_memory("dkm", 1, 1, "episodes")
