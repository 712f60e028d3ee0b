"""Merging an episode's states in batches, against slow oracles, and where it must be the usual way of merging."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.hashing import states_of
from engram.memory.strategies import Decision, Numbers, Strategy, Write, blend
from engram.typing import Doubles
from tests.examples import examples
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
@examples(40)
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


class TheirTable:
    """A table as the paper's authors have it: N slots from the start, with n = 0 and a key far away, and no states.

    Written from a description of their code: of a batch of m < N states, each is looked for among all slots first. If m
    slots have n ≤ 0, those with the least n take the batch, with n = 1, and that is all. Otherwise all of these take
    the first states of the batch; what a slot is to take in of the others is averaged, then added with the weight of
    one state, and counted as what it is; and at last every n is lowered by m/N. (kM: n is lowered by nothing.)
    """

    def __init__(self, capacity: int, dims: int, *, decays: bool) -> None:
        self.keys, self.values = np.full((capacity, dims), 1e6), np.zeros(capacity)
        self.n, self.decays = [Fraction(0)] * capacity, decays

    def write(self, keys: Doubles, values: Doubles) -> None:
        most = len(self.n) - 1
        for first in range(0, len(keys), most):
            self.write_batch(keys[first : first + most], values[first : first + most])

    def write_batch(self, keys: Doubles, values: Doubles) -> None:
        nearest = [int(((self.keys - key) ** 2).sum(1).argmin()) for key in keys]
        dead = sorted((n, slot) for slot, n in enumerate(self.n) if n <= 0)
        stored = min(len(dead), len(keys))
        for t, (_, slot) in enumerate(dead[:stored]):
            self.keys[slot], self.values[slot], self.n[slot] = keys[t], values[t], Fraction(1)
        if stored == len(keys):
            return
        for slot in set(nearest[stored:]):
            mine = [t for t in range(stored, len(keys)) if nearest[t] == slot]
            n = float(self.n[slot])
            self.keys[slot] = (n * self.keys[slot] + keys[mine].mean(0)) / (n + 1)
            self.values[slot] = (n * self.values[slot] + values[mine].mean()) / (n + 1)
            self.n[slot] += len(mine)
        if self.decays:
            self.n = [n - Fraction(len(keys), len(self.n)) for n in self.n]


@pytest.mark.parametrize("name", ["kmeans", "dkm"])
@pytest.mark.parametrize("capacity", [2, 5, 23])
def test_episodes_are_merged_as_by_the_papers_authors(name: str, capacity: int) -> None:
    """Every state is a new one, as theirs are; keys drift away, and come back."""
    rng = np.random.default_rng(capacity)
    memory, theirs = make_memory(name, capacity, 2), TheirTable(capacity, 2, decays=name == "dkm")
    fitted = 0
    for episode, length in enumerate(rng.integers(1, 3 * capacity, size=60)):
        keys = (rng.standard_normal((length, 2)) + 3 * np.sin(episode / 3)).astype(np.float32)
        values = rng.standard_normal(length).astype(np.float32)
        writes = memory.state_dict()["writes"][0]
        memory.write(0, keys, values)
        theirs.write(keys.astype(np.float64), values.astype(np.float64))
        size, entries = memory.size[0], memory.entries(0)
        np.testing.assert_allclose(entries["keys"], theirs.keys[:size], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(entries["values"], theirs.values[:size], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(entries["n"], [float(n) for n in theirs.n[:size]], rtol=1e-12, atol=1e-12)
        fitted += size == capacity and memory.state_dict()["writes"][0] == writes
    assert fitted > 1 or name == "kmeans", "some batches must have found nothing but used-up entries"


@pytest.mark.parametrize("name", CLUSTERING)
def test_episodes_of_one_state_are_merged_as_ever(name: str) -> None:
    """Until an entry is used up: what takes its place takes nothing from the others here."""
    rng = np.random.default_rng(3)
    keys, values = rng.standard_normal((300, 2)).astype(np.float32), rng.standard_normal(300).astype(np.float32)
    single, episode = (make_memory(name, 11, 2, merging) for merging in ("single", "episode"))
    for t in range(len(keys)):
        if single.written[:, 1].any():
            break
        assert same_state(single, episode)
        for memory in (single, episode):
            memory.write(t % 2, keys[t : t + 1], values[t : t + 1])
    assert t > 30
    assert same_state(single, episode) == (t == len(keys) - 1)
    for memory in (single, episode):
        memory.write(0, keys, values)
    assert not same_state(single, episode)


def same_state(one: EpisodicMemory, other: EpisodicMemory) -> bool:
    ours, theirs = one.state_dict(), other.state_dict()
    assert ours.keys() == theirs.keys()
    return all(np.array_equal(ours[name], theirs[name]) for name in ours if name != "strategy")


def test_a_cluster_moves_as_far_for_many_states_as_for_one() -> None:
    """(n c + batch mean)/(n + 1), worked out by hand: the mean of 4 and 8 counts once, in n it counts twice."""
    memory = make_memory("dkm", 4, 1)
    memory.write(0, [[0.0], [100.0], [200.0]], [0.0, 1.0, 2.0])
    memory.write(0, [[300.0]], [3.0])
    memory.write(0, [[4.0], [8.0]], [2.0, 4.0])
    entries = memory.entries(0)
    assert entries["keys"].ravel().tolist() == [3, 100, 200, 300]  # (1 · 0 + 6)/2
    assert entries["values"].tolist() == [1.5, 1, 2, 3]  # (1 · 0 + 3)/2
    assert entries["n"].tolist() == [2.5, 0.5, 0.5, 0.5]  # 1 + 2 and 1, and then each loses 2/N


def test_a_batch_that_fits_takes_nothing_and_one_that_does_not_finds_what_was_nearest_before() -> None:
    """Worked out by hand: N = 4, all n at 1/2 or more, then two used up."""
    memory = make_memory("dkm", 4, 1)
    memory.write(0, [[0.0], [100.0], [200.0]], [0.0, 1.0, 2.0])
    memory.write(0, [[300.0]], [3.0])
    memory.write(0, [[0.0], [100.0]], [0.0, 1.0])  # states met before; n is 1.5, 1.5, 0.5, 0.5
    memory.write(0, [[0.0], [100.0]], [0.0, 1.0])  # n is 2, 2, 0, 0
    assert memory.entries(0)["n"].tolist() == [2, 2, 0, 0]
    memory.write(0, [[0.0]], [7.0])
    assert memory.entries(0)["n"].tolist() == [2, 2, 1, 0], "a state met before fills what is used up, and that is all"
    memory.write(0, [[400.0], [301.0], [302.0]], [0.0, 5.0, 7.0])  # slot 3, used up, was the nearest to all three
    entries = memory.entries(0)
    assert entries["keys"].ravel().tolist() == [0, 100, 0, (400 + 301.5) / 2], "into what has taken its place"
    assert entries["values"].tolist() == [0, 1, 7, 3]
    assert entries["n"].tolist() == [1.25, 1.25, 0.25, 2.25]


@pytest.mark.parametrize("strategy", ["lru", "rew", "sur", Nearest()])
def test_strategies_that_cannot_merge_episodes_are_refused(strategy: str | Strategy) -> None:
    with pytest.raises(
        InvalidInputError, match=r'"episode" needs.*\(adaptive, dkm, fading, kmeans\), got .*; choose one'
    ):
        EpisodicMemory(actions=1, key_size=1, capacity=1, strategy=strategy, merging="episode")
    with pytest.raises(InvalidInputError, match=r"merging must be one of 'single', 'episode', got 'episodes'"):
        make_memory("dkm", 1, 1, "episodes")
