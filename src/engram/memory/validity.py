"""Checks that all arrays of a memory agree with each other, and hold what its strategy can have come to."""

from collections.abc import Iterator

import numpy as np

from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.arguments import KEY_LIMIT
from engram.memory.heap import goes_before
from engram.memory.keys import get_keys
from engram.memory.plain import named_numbers
from engram.memory.strategies import CompiledStrategy, Kept, Strategy
from engram.memory.tables import Tables
from engram.typing import Doubles, Ints

MOST_TICKS = 2**52  # of the clock, and writes: a float64 holds them exactly, and no run comes near
ROUNDED = 1 + 2.0**-20  # by which a merged key may be beyond the limit of keys


def check_tables(tables: Tables, strategy: Strategy) -> None:
    """Raise InvalidInputError, naming table and fact, unless every fact holds in every table."""
    for table in range(len(tables.size)):
        for fact, holds in _facts(tables, strategy, table):
            if not holds:
                raise InvalidInputError(f"memory is not valid: in table {table} it should hold that {fact}")


def _facts(tables: Tables, strategy: Strategy, table: int) -> Iterator[tuple[str, bool]]:
    """Facts about one table, each of which can be computed if those before it hold."""
    capacity = tables.values.shape[1]
    size, writes, clock = (int(number) for number in (tables.size[table], tables.writes[table], tables.clock[0]))
    yield "size is from 0 to the capacity", 0 <= size <= capacity
    yield "its writes are from 0 to the clock, and the clock to 2**52", 0 <= writes <= clock <= MOST_TICKS
    yield "only a full table has writes that found it full", size == capacity or writes == 0
    yield "every entry was written", size <= clock
    values, ranks = tables.values[table, :size], tables.ranks[table, :size]
    states, buckets = tables.states[table, :size], tables.buckets[table]
    yield "keys are finite and within their limits", _keys_are_usable(tables, table, size)
    yield "values are finite", bool(np.isfinite(values).all())
    yield "ranks are finite", bool(np.isfinite(ranks).all())
    companions = tables.companions[table, :size]
    yield "companions are finite and not negative", bool((np.isfinite(companions) & (companions >= 0)).all())
    observed = tables.columns[table, len(strategy.column_names()) :, :size]
    yield "observations are finite and within the limits of keys", bool((np.abs(observed) <= KEY_LIMIT * ROUNDED).all())
    numbers = named_numbers(strategy, tables, table)
    for name, column in numbers.items():
        yield f"{name} is finite", bool(np.isfinite(column).all())
    wrong = strategy.check(numbers, Kept(values, writes, capacity, clock))
    yield wrong, not wrong
    lowest = np.sort(np.unique(states, return_index=True)[1])
    yield "no state is stored twice", len(lowest) == size or (strategy.clusters and size == capacity)
    held = np.sort(np.abs(buckets[np.flatnonzero(buckets)])) - 1
    yield "the index holds every state once", np.array_equal(held, lowest)
    yield "the index finds every state", bool(hash_index.finds_all(buckets, states))
    if isinstance(strategy, CompiledStrategy) and strategy.order:
        heap, place = tables.heap[table, :size], tables.place[table]
        slots = np.arange(size)
        yield "the heap holds every slot once", np.array_equal(np.sort(heap), slots)
        yield "the heap knows the position of each slot", bool((place[heap] == slots).all())
        known = tables.known[table]
        yield "no rank is below its parent's in the heap", bool(is_heap(heap, known))
        yield "the heap knows no rank above what it is", bool((known[:size] <= ranks).all())


def _keys_are_usable(tables: Tables, table: int, size: int) -> bool:
    """Whether every number of every key of a table is within the limit of keys, looked at some rows at a time."""
    actions, capacity = tables.values.shape
    dims = len(tables.keys) // (actions * capacity)
    rows = max(1, 2**20 // max(dims, 1))
    for first in range(0, size, rows):
        keys = np.empty((min(rows, size - first), dims), np.float32)
        get_keys(tables.keys, table, first, capacity, keys)
        if not (np.abs(keys) <= KEY_LIMIT * ROUNDED).all():
            return False
    return True


@compiled
def is_heap(heap: Ints, known: Doubles) -> bool:
    """Whether no slot comes before its parent."""
    early = 0
    for child in range(1, len(heap)):
        early += int(goes_before(known, heap[child], heap[(child - 1) // 2]))
    return early == 0
