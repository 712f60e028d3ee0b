"""Damage to any array of a memory is found."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.tables import Tables
from tests.memory.streams import CAPACITY, INF, NAN, PlainKMeans, filled_memory


def corrupt(name: str, at: Any, value: Any) -> Callable[[Tables], None]:
    return lambda tables: getattr(tables, name).__setitem__(at, value)


def swap_top(tables: Tables) -> None:
    """Two slots change places in the heap, and know it."""
    tables.heap[1, [0, 1]] = tables.heap[1, [1, 0]]
    tables.place[1, tables.heap[1, :2]] = [0, 1]


def put_twice(tables: Tables) -> None:
    """A slot is at two positions of the heap."""
    tables.heap[0, 0] = tables.heap[0, 1]


def know_too_much(tables: Tables) -> None:
    """The last slot of the heap is known by a higher rank than it has."""
    tables.known[0, tables.heap[0, CAPACITY - 1]] = 1e300


def forget_first(tables: Tables) -> None:
    tables.buckets[0, np.flatnonzero(tables.buckets[0])[0]] = 0


def index_twice(tables: Tables) -> None:
    tables.buckets[0, np.flatnonzero(tables.buckets[0] == 0)[0]] = 1


@pytest.mark.parametrize("strategy", ["lru", "rew", "sur", "dkm", "fading"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (corrupt("size", 0, -1), "in table 0 .* size is from 0 to the capacity"),
        (corrupt("size", 0, CAPACITY + 1), "in table 0 .* size is from 0 to the capacity"),
        (corrupt("size", 0, CAPACITY - 1), "in table 0 .* only a full table has writes"),
        (corrupt("writes", 0, 2**40), "in table 0 .* its writes are from 0 to the clock"),
        (corrupt("clock", 0, -1), "in table 0 .* its writes are from 0 to the clock"),
        (corrupt("clock", 0, 2**62), "in table 0 .* the clock to"),
        (corrupt("keys", -1, NAN), "in table 1 .* finite"),
        (corrupt("keys", -1, 3e38), "in table 1 .* keys are finite and within their limits"),
        (corrupt("values", (1, 3), INF), "in table 1 .* finite"),
        (corrupt("ranks", (0, 3), NAN), "in table 0 .* "),
        (corrupt("states", (0, 5), 12345), "in table 0 .* the index finds every state"),
        (forget_first, "in table 0 .* the index holds every state once"),
        (index_twice, "in table 0 .* the index holds every state once"),
        (put_twice, "in table 0 .* the heap holds every slot once"),
        (corrupt("place", (0, slice(None)), 0), "in table 0 .* the heap knows the position of each slot"),
        (know_too_much, "in table 0 .* the heap knows no rank above what it is"),
        (swap_top, "in table 1 .* no rank is below its parent's"),
        (corrupt("ranks", (0, slice(None)), -3.0), "in table 0 .* (last_used|ranks are the values|surprise|a rank is)"),
    ],
)
def test_damage_is_found(strategy: str, damage: Callable[[Tables], None], message: str) -> None:
    memory = filled_memory(strategy)
    memory.check_valid()
    damage(memory._tables)
    with pytest.raises(InvalidInputError, match=f"memory is not valid: {message}"):
        memory.check_valid()


def test_a_state_stored_twice_is_found() -> None:
    memory = filled_memory()
    memory._tables.states[0, 1] = memory._tables.states[0, 0]
    with pytest.raises(InvalidInputError, match="no state is stored twice"):
        memory.check_valid()


def test_damaged_numbers_of_ones_own_strategy_are_found() -> None:
    memory = filled_memory(PlainKMeans())
    memory._store.numbers_of(1)["n"][4] = NAN
    with pytest.raises(InvalidInputError, match=r"in table 1 .* finite"):
        memory.check_valid()


def test_ranks_that_are_not_in_the_order_of_the_heap_are_found() -> None:
    memory = filled_memory("lru")
    memory._tables.known[0] = np.arange(CAPACITY, 0, -1)
    with pytest.raises(InvalidInputError, match=r"in table 0 .* no rank is below its parent's"):
        memory.check_valid()


def test_a_state_that_several_clusters_have_is_indexed_as_such() -> None:
    memory = filled_memory("kmeans")
    tables = memory._tables
    tables.states[0, 7] = tables.states[0, 3]
    with pytest.raises(InvalidInputError, match="the index holds every state once"):
        memory.check_valid()
    bucket = int(np.flatnonzero(tables.buckets[0] == 8)[0])
    hash_index.close(tables.buckets[0], tables.states[0], bucket)
    with pytest.raises(InvalidInputError, match="the index finds every state"):
        memory.check_valid()
