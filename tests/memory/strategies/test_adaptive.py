"""Adaptive: states where they come back, as the oracle says, and elsewhere what fading does to the last bit."""

from typing import Any

import numpy as np
import pytest

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.hashing import states_of
from engram.typing import Floats
from tests.memory.oracle import AdaptiveTable
from tests.memory.strategies.test_built_in import assert_same, oracle_tables

POOL = np.random.default_rng(0).standard_normal((60, 2)).astype(np.float32)  # states that come back


def memory_of(strategy: str = "adaptive", **settings: Any) -> EpisodicMemory:
    chosen = {"actions": 1, "key_size": 2, "capacity": 20, "neighbours": 5, **settings}
    return EpisodicMemory(strategy=strategy, **chosen)


def play(memories: list[EpisodicMemory], seed: int, *, episodes: int = 60, pool: Floats | None = POOL) -> None:
    """Episodes of ten states, of a pool or none of them twice, with reads before each."""
    rng = np.random.default_rng(seed)
    for _ in range(episodes):
        keys = (
            rng.standard_normal((10, 2)).astype(np.float32) if pool is None else pool[rng.integers(len(pool), size=10)]
        )
        total = float(rng.integers(0, 5))
        for memory in memories:
            memory.read(keys[:4], touch=True)
            memory.write(0, keys, keys[:, 0], episode_return=total)


def bits(memory: EpisodicMemory) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in memory.entries(0).items() if name != "worth"}


@pytest.mark.parametrize("strategy", ["adaptive", "adaptive:lifetime=2.5,favour=2"])
@pytest.mark.parametrize("step", [None, 0.25])
def test_states_of_good_episodes_and_those_that_were_hit_stay_as_the_oracle_says(
    strategy: str, step: float | None
) -> None:
    memory = memory_of(strategy, match=step or "max")
    tables = oracle_tables(memory.strategy, 20, neighbours=5, step=step)
    (table, _) = tables
    assert isinstance(table, AdaptiveTable)
    rng = np.random.default_rng(5)
    for episode in range(150):
        keys = POOL[rng.integers(len(POOL), size=12)]
        if 60 <= episode < 100:  # for a while no state comes back, so that entries become clusters
            keys = keys + rng.standard_normal(keys.shape).astype(np.float32)
        values, total = rng.standard_normal(12).astype(np.float32), float(rng.integers(-3, 4))
        memory.read(keys[:3], touch=True)
        for key in keys[:3]:
            table.touch(key, 0)
        memory.write(0, keys, values, episode_return=total)
        for key, value, state in zip(keys, values, states_of(keys).tolist(), strict=True):
            table.write(key, value, state, 0, total)
        assert_same(memory, [table])
        memory.check_valid()
    assert table.keeps_states
    assert table.replaced


def test_where_no_state_comes_back_it_is_fading() -> None:
    ours, fading = memory_of(), memory_of("fading")
    play([ours, fading], seed=1, pool=None)
    assert bits(ours) == bits(fading)


@pytest.mark.parametrize("settings", [{"exact_read": False, "match": 0.1}, {"neighbours": 20}])
def test_where_reads_cannot_tell_states_apart_it_is_fading(settings: dict[str, Any]) -> None:
    ours, fading, other = memory_of(**settings), memory_of("fading", **settings), memory_of()
    play([ours, fading, other], seed=2)
    assert bits(ours) == bits(fading) != bits(other)


@pytest.mark.parametrize(("favour", "kept"), [(5, True), (0, False)])
def test_the_states_of_the_best_episode_outlive_others(favour: float, kept: bool) -> None:
    memory = memory_of(f"adaptive:favour={favour}")
    for _ in range(3):  # so that states are seen to come back
        memory.write(0, POOL[:15], np.zeros(15), episode_return=0.0)
    memory.write(0, POOL[15:20], np.ones(5), episode_return=9.0)
    for turn in range(4):
        memory.write(0, POOL[20 + 10 * turn : 30 + 10 * turn], np.zeros(10), episode_return=float(turn % 2))
    assert (memory.entries(0)["values"] == 1).sum() == (5 if kept else 0)


def test_a_hit_keeps_a_state_and_its_neighbours_go() -> None:
    line = np.arange(60, dtype=np.float32)[:, None] * np.ones(2, np.float32)
    memory = memory_of()
    for _ in range(3):
        memory.write(0, line[:20], np.zeros(20), episode_return=0.0)
    for state in line[20:50]:
        memory.read(line[7:8], touch=True)
        memory.write(0, state[None], [0.0], episode_return=0.0)
    left = set(memory.entries(0)["keys"][:, 0].tolist())
    assert 7 in left
    assert not left & {6, 8}


def test_a_state_worse_than_all_that_are_there_is_not_stored() -> None:
    memory = memory_of()
    for total in (0.0, 9.0):
        memory.write(0, POOL[:20], np.zeros(20), episode_return=total)
    before = bits(memory)
    memory.write(0, POOL[30:31], [0.0], episode_return=0.0)
    assert bits(memory).keys() == before.keys()
    assert bits(memory)["keys"] == before["keys"]


def test_it_goes_on_after_loading_as_if_nothing_had_happened() -> None:
    ours = memory_of()
    play([ours], seed=3)
    theirs = memory_of()
    theirs.load_state_dict(ours.state_dict())
    play([ours, theirs], seed=4)
    assert bits(ours) == bits(theirs)
    assert ours.table_numbers(0) == theirs.table_numbers(0)


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("rank", -1.0, "a rank is ln n"),
        ("rank", 1e6, "a rank is ln n"),
        ("worth", 6.0, "a worth is from 0"),
        ("worth", -0.5, "a worth is from 0"),
        ("hits", 1.5, "a table's numbers"),
        ("deviation", -1.0, "a table's numbers"),
        ("seen", 1.5, "a table's numbers"),
        ("seen", 1e9, "a table's numbers"),
        ("now", 1e9, "a table's numbers"),
    ],
)
def test_numbers_that_cannot_be_are_found(name: str, wrong: float, message: str) -> None:
    memory = memory_of()
    play([memory], seed=3, episodes=5)
    memory.check_valid()
    memory._store.numbers_of(0)[name][0] = wrong
    with pytest.raises(InvalidInputError, match=message):
        memory.check_valid()


def test_without_returns_of_episodes_the_last_use_decides() -> None:
    memory = memory_of()
    for _ in range(3):
        memory.write(0, POOL[:20], np.zeros(20))
    memory.write(0, POOL[20:25], np.zeros(5))
    assert set(states_of(POOL[20:25]).tolist()) <= set(memory.entries(0)["states"].tolist())
    assert set(memory.entries(0)["worth"].tolist()) == {2.5}


@pytest.mark.parametrize("favour", [-1, float("nan"), 1e7])
def test_a_favour_that_cannot_be_is_refused(favour: float) -> None:
    with pytest.raises(InvalidInputError, match="favour"):
        memory_of(f"adaptive:favour={favour}")
