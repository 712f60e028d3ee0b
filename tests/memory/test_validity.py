"""Damage to any array of a memory is found."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engram.errors import InvalidInputError
from engram.memory.tables import Tables
from tests.memory.streams import CAPACITY, INF, NAN, PlainKMeans, filled_memory


def corrupt(name: str, at: Any, value: Any) -> Callable[[Tables], None]:
    return lambda tables: getattr(tables, name).__setitem__(at, value)


def swap_top(tables: Tables) -> None:
    """Two slots change places in the heap, and know it."""
    tables.heap[1, [0, 1]] = tables.heap[1, [1, 0]]
    tables.place[1, tables.heap[1, :2]] = [0, 1]


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
        (corrupt("size", 0, CAPACITY - 1), "in table 0 .* "),
        (corrupt("keys", -1, NAN), "in table 1 .* finite"),
        (corrupt("values", (1, 3), INF), "in table 1 .* finite"),
        (corrupt("ranks", (0, 3), NAN), "in table 0 .* "),
        (corrupt("states", (0, 5), 12345), "in table 0 .* the index finds every state"),
        (forget_first, "in table 0 .* the index holds every slot once"),
        (index_twice, "in table 0 .* the index holds every slot once"),
        (corrupt("heap", (0, 0), CAPACITY - 1), "in table 0 .* the heap holds every slot once"),
        (corrupt("place", (0, slice(None)), 0), "in table 0 .* the heap knows the position of each slot"),
        (swap_top, "in table 1 .* no rank is below its parent's"),
        (corrupt("ranks", (0, slice(None)), np.arange(CAPACITY, 0, -1)), "in table 0 .* rank"),
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
