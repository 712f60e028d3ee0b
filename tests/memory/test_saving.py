"""Saving and loading: a loaded memory goes on as the saved one, and a state of another shape is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.files.pieces import Pieces
from engram.memory import hash_index, saving
from engram.memory.strategies import Strategy
from engram.typing import Array
from tests.memory.streams import (
    ACTIONS,
    CAPACITY,
    DIMS,
    STRATEGIES,
    assert_same_bits,
    filled_memory,
    label,
    new_memory,
    run_stream,
)


@pytest.mark.parametrize("operations", [0, 3, 30], ids=["empty", "filling", "full"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=label)
def test_a_loaded_memory_goes_on_with_the_same_bits(strategy: str | Strategy, operations: int) -> None:
    ours, theirs = new_memory(strategy), filled_memory(strategy)  # theirs holds something else before
    run_stream([ours], seed=2, operations=operations)
    theirs.load_state_dict(ours.state_dict())
    assert_same_bits(theirs.state_dict(), ours.state_dict())
    theirs.check_valid()
    run_stream([ours, theirs], seed=3)
    assert_same_bits(theirs.state_dict(), ours.state_dict())
    keys = np.random.default_rng(0).standard_normal((9, DIMS))
    assert theirs.read(keys).tobytes() == ours.read(keys).tobytes()
    theirs.check_valid()


def without(name: str) -> Callable[[dict[str, Array]], None]:
    return lambda state: state.__delitem__(name)


def put(name: str, array: Any) -> Callable[[dict[str, Array]], None]:
    return lambda state: state.update({name: np.asarray(array)})


FULL = ACTIONS * CAPACITY


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        *((without(name), "memory state must hold clock, keys, ") for name in ("keys", "ranks", "size", "clock")),
        (put("surplus", [0]), "memory state must hold .*, got .*surplus"),
        (put("size", [CAPACITY]), r"memory state must have 2 tables of 0 to 20 entries, got sizes \[20\]"),
        (put("size", [CAPACITY + 1, CAPACITY - 1]), r"of 0 to 20 entries, got sizes \[21, 19\]"),
        (put("size", [-1, CAPACITY]), r"of 0 to 20 entries, got sizes \[-1, 20\]"),
        (put("size", [CAPACITY, CAPACITY - 1]), r"must have shape \(39.*\), got \(40"),
        (put("keys", np.zeros((FULL, DIMS + 1))), r"'keys' must have shape \(40, 3\), got \(40, 4\)"),
        (put("values", np.zeros(FULL - 1)), r"'values' must have shape \(40,\), got \(39,\)"),
        (put("states", np.zeros((FULL, 1), np.uint64)), r"'states' must have shape \(40,\), got \(40, 1\)"),
        (put("writes", [0]), r"'writes' must have shape \(2,\), got \(1,\)"),
        (put("clock", 0), r"'clock' must have shape \(1,\), got \(\)"),
    ],
)
def test_a_state_of_another_shape_is_refused_and_changes_nothing(
    spoil: Callable[[dict[str, Array]], None], message: str
) -> None:
    state = filled_memory().state_dict()
    memory = new_memory()
    run_stream([memory], seed=4, operations=5)
    before = memory.state_dict()
    spoil(state)
    with pytest.raises(InvalidInputError, match=message):
        memory.load_state_dict(state)
    assert_same_bits(memory.state_dict(), before)
    memory.check_valid()


def set_all(name: str, value: float) -> Callable[[dict[str, Array]], None]:
    return lambda state: state[name].__setitem__(slice(None), value)


def add(name: str, value: float) -> Callable[[dict[str, Array]], None]:
    return lambda state: state[name].__setitem__(slice(None), state[name] + value)


@pytest.mark.parametrize(
    ("strategy", "spoil", "message"),
    [
        ("lru", set_all("ranks", -3), "last_used is a tick from 1 to the clock"),
        ("lru", add("ranks", 10_000), "last_used is a tick from 1 to the clock"),
        ("lru", add("ranks", 0.5), "last_used is a tick"),
        ("rew", add("ranks", 1), "the ranks are the values"),
        ("sur", set_all("ranks", -3), "a surprise is the difference of two values"),
        ("sur", set_all("ranks", 1e300), "a surprise is the difference of two values"),
        *(("kmeans", set_all("ranks", n), "n is a whole number of writes") for n in (-3, 0, 1.5, 1e9)),
        *(("dkm", set_all("ranks", rank), "a rank is N q n") for rank in (-3, 0, 20.5, 1e30)),
        ("dkm:decay=0.3", set_all("ranks", 100), "a rank is N q n"),
        *(("fading", set_all("ranks", rank), "a rank is ln n") for rank in (-3, 1e3, 1e308)),
        *((name, set_all("keys", 3e38), r"keys must be from -1e\+15 to 1e\+15") for name in ("lru", "kmeans", "dkm")),
        *((name, set_all("keys", np.nan), "keys contain NaN or infinity") for name in ("lru", "kmeans", "fading")),
        ("kmeans", set_all("values", np.inf), "values are finite"),
        ("lru", set_all("clock", -1), "its writes are from 0 to the clock"),
        ("lru", set_all("clock", 2**62), r"the clock to 2\*\*52"),
        ("dkm", set_all("writes", -1), "its writes are from 0 to the clock"),
        ("fading", set_all("writes", 2**62), "its writes are from 0 to the clock"),
        ("lru", set_all("states", 5), "no state is stored twice"),
        ("lru", put("keys", np.zeros((FULL, DIMS))), "'keys' must be of type float32, got float64"),
        ("lru", put("size", [20.0, 20.0]), "'size' must be an array of whole numbers"),
        ("lru", put("states", np.zeros(FULL)), "'states' must be of type uint64, got float64"),
        ("lru", put("values", np.full(FULL, None)), "'values' must be of type float32, got object"),
        ("lru", lambda state: state.update(values=[0.0] * FULL), "'values' must be an array, got"),
        ("lru", lambda state: state.update(strategy=None), "'strategy' must be a mapping, got None"),
    ],
)
def test_numbers_that_the_strategy_cannot_have_come_to_are_refused(
    strategy: str, spoil: Callable[[dict[str, Any]], None], message: str
) -> None:
    state = filled_memory(strategy).state_dict()
    memory = new_memory(strategy)
    memory.load_state_dict(state)
    before = memory.state_dict()
    spoil(state)
    with pytest.raises(InvalidInputError, match=message):
        memory.load_state_dict(state)
    assert_same_bits(memory.state_dict(), before)
    run_stream([memory], seed=5)
    memory.check_valid()


def test_only_a_full_table_may_have_a_state_in_two_clusters() -> None:
    memory = new_memory("kmeans", actions=1)
    memory.write(0, np.eye(DIMS), np.zeros(DIMS))
    state = memory.state_dict()
    state["states"][:] = 5
    with pytest.raises(InvalidInputError, match="no state is stored twice"):
        memory.load_state_dict(state)


@pytest.mark.parametrize("strategy", ["kmeans", "dkm"])
def test_many_entries_with_one_state_have_one_place_in_the_index(strategy: str) -> None:
    """With a place for each of them, loading would take a time that grows with the square of their number."""
    capacity = 60_000
    memory = EpisodicMemory(actions=1, key_size=1, capacity=capacity, strategy=strategy)
    memory.write(0, np.arange(capacity)[:, None], np.zeros(capacity), states=np.arange(capacity))
    state = memory.state_dict()
    state["states"][:] = 5
    memory.load_state_dict(state)
    memory.write(0, np.arange(50)[:, None], np.zeros(50), states=np.full(50, 5))
    assert np.count_nonzero(memory._tables.buckets) == 1
    memory.check_valid()


def test_states_that_were_made_to_collide_are_refused_at_once() -> None:
    capacity = 60_000
    memory = EpisodicMemory(actions=1, key_size=1, capacity=capacity)
    memory.write(0, np.arange(capacity)[:, None], np.zeros(capacity), states=np.arange(capacity))
    state = memory.state_dict()
    inverse = pow(int(hash_index.GOLDEN), -1, 2**64)
    state["states"][:] = [low * inverse % 2**64 for low in range(capacity)]  # all begin in bucket 0
    with pytest.raises(InvalidInputError, match="the states of table 0 are not hashes"):
        memory.load_state_dict(state)
    memory.check_valid()


@pytest.mark.parametrize("strategy", STRATEGIES, ids=label)
@pytest.mark.parametrize("dims", [DIMS, 128])
def test_the_state_in_pieces_is_the_state(strategy: str | Strategy, dims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "PIECE", 30)
    memory = new_memory(strategy, key_size=dims, companions=2)
    memory.write(1, np.random.default_rng(0).standard_normal((30, dims)), np.zeros(30), states=np.arange(30))
    pieces = memory.state_in_pieces()
    whole = {name: part.whole() if isinstance(part, Pieces) else part for name, part in pieces.items()}
    assert_same_bits(whole, memory.state_dict())
    assert len(list(pieces["keys"].make())) > 5
