"""Saving and loading: a loaded memory goes on as the saved one, and a state of another shape is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engram.errors import InvalidInputError
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
