"""Checks that all arrays of a memory agree with each other."""

from collections.abc import Iterator

import numpy as np

from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.heap import goes_before
from engram.memory.keys import get_keys
from engram.memory.plain import named_numbers
from engram.memory.strategies import CompiledStrategy, Strategy
from engram.memory.tables import Tables


def check_tables(tables: Tables, strategy: Strategy) -> None:
    """Raise InvalidInputError, naming table and fact, unless every fact holds in every table."""
    for table in range(len(tables.size)):
        for fact, holds in _facts(tables, strategy, table):
            if not holds:
                raise InvalidInputError(f"memory is not valid: in table {table} it should hold that {fact}")


def _facts(tables: Tables, strategy: Strategy, table: int) -> Iterator[tuple[str, bool]]:
    """Facts about one table, each of which can be computed if those before it hold."""
    actions, capacity = tables.values.shape
    size = int(tables.size[table])
    yield "size is from 0 to the capacity", 0 <= size <= capacity
    yield "its writes and the clock are not negative", tables.writes[table] >= 0 <= tables.clock[0]
    values, ranks = tables.values[table, :size], tables.ranks[table, :size]
    states, buckets = tables.states[table, :size], tables.buckets[table]
    keys = np.empty((size, len(tables.keys) // (actions * capacity)), np.float32)
    get_keys(tables.keys, table, capacity, keys)
    yield "keys are finite", bool(np.isfinite(keys).all())
    yield "values are finite", bool(np.isfinite(values).all())
    yield "ranks are finite", bool(np.isfinite(ranks).all())
    companions = tables.companions[table, :size]
    yield "companions are finite and not negative", bool((np.isfinite(companions) & (companions >= 0)).all())
    for name, column in named_numbers(strategy, tables, table).items():
        yield f"{name} is finite", bool(np.isfinite(column).all())
    yield "no state is stored twice", strategy.clusters or len(np.unique(states)) == size
    slots = np.arange(size)
    held = np.sort(buckets[np.flatnonzero(buckets)]) - 1
    yield "the index holds every slot once", np.array_equal(held, slots)
    found = np.array([hash_index.find(buckets, tables.states[table], state) for state in states], np.int64)
    yield "the index finds every state", bool((found >= 0).all() and (states[found] == states).all())
    if isinstance(strategy, CompiledStrategy) and strategy.order:
        heap, place = tables.heap[table, :size], tables.place[table]
        yield "the heap holds every slot once", np.array_equal(np.sort(heap), slots)
        yield "the heap knows the position of each slot", bool((place[heap] == slots).all())
        yield (
            "no rank is below its parent's in the heap",
            not any(goes_before(ranks, heap[child], heap[(child - 1) // 2]) for child in slots[1:]),
        )
