"""The arrays that hold all tables of a memory, and how an entry is stored, merged and updated."""

from math import prod
from typing import Any, NamedTuple

import numpy as np

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.memory import hash_index
from engram.memory.hash_index import buckets_for
from engram.memory.heap import hear, sift
from engram.memory.keys import blend, get_key, is_wide, put_key
from engram.memory.lanes import LINE
from engram.memory.sketch import SKETCH, Sketch, put_sketch, sketch_shapes
from engram.memory.strategies.decisions import OUTCOMES
from engram.typing import Array, Doubles, Floats, Ints, Longs, States, Whole

MOST_ENTRIES = 2**30  # of a table: slots are int32
MOST_PROBES = 32  # of the hash index per entry, on average; states that are hashes take three
FEWEST = 1024  # entries that are always worth the time


class Renewal(NamedTuple):
    """How an entry is written whose very state is met again."""

    step: float  # towards the new value; 0: the larger value stays
    newer_key: bool  # whether it takes the newer key


class Tables(NamedTuple):
    """One array of each kind for all tables; 43 bytes per entry besides its key, 131 if keys are sketched."""

    keys: Floats  # [actions · capacity · dims], see keys.py
    sketch: Sketch  # of wide keys, see sketch.py; () where keys are narrow, so that kernels hold nothing of it
    values: Floats  # [actions, capacity]
    states: States  # [actions, capacity], the state with which the entry was stored
    buckets: Ints  # [actions, buckets], state → slot: see hash_index.py
    ranks: Doubles  # [actions, capacity], the first number of a compiled strategy, which may order the heap
    heap: Ints  # [actions, capacity], slots by rank: see heap.py
    known: Doubles  # [actions, capacity], ranks as the heap knows them
    place: Ints  # [actions, capacity], position of each slot in the heap
    size: Longs  # [actions], entries in use: slots 0 … size − 1
    writes: Longs  # [actions], writes that found the table full
    clock: Longs  # [1], ticks: one per query that touches, one per write
    written: Longs  # [actions, 5], writes by how they ended, since the tables were made: see decisions.py; not saved
    companions: Floats  # [actions, capacity, width], numbers of an optimiser; mostly of width 0
    columns: Doubles  # [actions, columns, capacity], further numbers per entry: a strategy's, and see observed.py
    own: Doubles  # [actions, table numbers], numbers that a strategy keeps per table


def layout_of(
    actions: int, capacity: int, dims: int, *, companions: int = 0, columns: int = 0, table_numbers: int = 0
) -> dict[str, tuple[tuple[int, ...], type[np.generic]]]:
    """Shape and type of every array of tables."""
    codes, norms, axes = sketch_shapes(actions, capacity, dims)
    return {
        "keys": ((actions * capacity * dims,), np.float32),
        "codes": (codes, np.uint8),
        "norms": (norms, np.int32),
        "axes": (axes, np.float32),
        "values": ((actions, capacity), np.float32),
        "states": ((actions, capacity), np.uint64),
        "buckets": ((actions, buckets_for(capacity)), np.int32),
        "ranks": ((actions, capacity), np.float64),
        "heap": ((actions, capacity), np.int32),
        "known": ((actions, capacity), np.float64),
        "place": ((actions, capacity), np.int32),
        "size": ((actions,), np.int64),
        "writes": ((actions,), np.int64),
        "clock": ((1,), np.int64),
        "written": ((actions, len(OUTCOMES)), np.int64),
        "companions": ((actions, capacity, companions), np.float32),
        "columns": ((actions, columns, capacity), np.float64),
        "own": ((actions, table_numbers), np.float64),
    }


def bytes_of(actions: int, capacity: int, dims: int, **numbers: int) -> int:
    """The bytes of tables when they are full."""
    layout = layout_of(actions, capacity, dims, **numbers)
    return sum(prod(shape) * np.dtype(kind).itemsize for shape, kind in layout.values())


def new_tables(actions: int, capacity: int, dims: int, **numbers: int) -> Tables:
    """Empty tables. The system gives pages to large arrays only when they are written to."""
    layout = layout_of(actions, capacity, dims, **numbers)
    arrays: dict[str, Any] = {name: zeros(shape, kind) for name, (shape, kind) in layout.items()}
    parts = tuple(arrays.pop(name) for name in SKETCH)
    return Tables(**arrays, sketch=parts if is_wide(dims, capacity) else ())


def zeros(shape: tuple[int, ...], kind: type[np.generic]) -> Array:
    """An array of zeros that begins with a line of the cache, so that 64 bytes of one entry are in one line."""
    size = prod(shape) * np.dtype(kind).itemsize
    room = np.zeros(size + LINE, np.uint8)
    first = -room.ctypes.data % LINE
    return room[first : first + size].view(kind).reshape(shape)


@compiled
def put(tables: Tables, table: int, slot: Whole, key: Floats) -> None:
    """Give an entry this key."""
    capacity = tables.values.shape[1]
    put_key(tables.keys, table, slot, capacity, key)
    put_sketch(tables.sketch, table, slot, capacity, key)


@compiled
def store(tables: Tables, table: int, slot: Whole, key: Floats, value: float, state: np.uint64) -> None:
    """Put a state into a slot: the next free one, or one whose entry is replaced."""
    states = tables.states[table]
    if slot < tables.size[table]:
        hash_index.remove(tables.buckets[table], states, tables.size[table], slot)
    else:
        tables.size[table] += 1
    states[slot] = state
    hash_index.insert(tables.buckets[table], states, slot)
    put(tables, table, slot, key)
    tables.values[table, slot] = value
    tables.companions[table, slot] = 0


@compiled
def merge(tables: Tables, table: int, slot: Whole, key: Floats, value: float, weight: float) -> None:
    """Move an entry towards a state: c ← c + w (s − c), Q ← Q + w (R − Q)."""
    blended = np.empty_like(key)
    get_key(tables.keys, table, slot, tables.values.shape[1], blended)
    blend(blended, key, weight)
    put(tables, table, slot, blended)
    old = np.float64(tables.values[table, slot])
    tables.values[table, slot] = old + weight * (value - old)
    companions = tables.companions[table, slot]
    for i in range(len(companions)):
        companions[i] *= np.float32(1 - weight)  # those of the new state are 0


@compiled
def update(tables: Tables, table: int, slot: Whole, key: Floats, value: float, renewal: Renewal) -> None:
    """Write a stored state again: the larger value stays, or it goes a step towards the new one; see `Renewal`."""
    old = np.float64(tables.values[table, slot])
    if renewal.step == 0:
        tables.values[table, slot] = max(old, value)
    else:
        tables.values[table, slot] = old + renewal.step * (value - old)
    if renewal.newer_key:
        put(tables, table, slot, key)


@compiled
def fill(tables: Tables, table: int, keys: Floats, ordered: bool) -> bool:
    """Lay out the keys of entries whose states and ranks are in place, and build their hash index and heap.

    Return False, with that left unfinished, if the states were chosen such that building the index would take too long.
    """
    tables, keys = borrowed(tables), borrowed(keys)
    probes: Whole = 0
    for slot in range(len(keys)):
        put(tables, table, slot, keys[slot])
        probes += hash_index.insert(tables.buckets[table], tables.states[table], slot)
        if probes > MOST_PROBES * (slot + FEWEST):
            return False
        if ordered:
            add_to_heap(tables, table, slot)
    return True


@compiled
def add_to_heap(tables: Tables, table: int, slot: Whole) -> None:
    """Put the slot that comes after those in the heap where its rank belongs."""
    tables.heap[table, slot] = tables.place[table, slot] = slot
    tables.known[table, slot] = tables.ranks[table, slot]
    sift(tables.heap[table], tables.place[table], tables.known[table], slot + 1, slot)


@compiled
def clear_numbers(tables: Tables, table: int, slot: Whole, ordered: bool, appended: bool) -> None:
    """Set all numbers of a new entry to 0."""
    tables.ranks[table, slot] = 0
    for column in range(tables.columns.shape[1]):
        tables.columns[table, column, slot] = 0
    if ordered and appended:
        add_to_heap(tables, table, slot)
    elif ordered:
        hear(tables.heap[table], tables.place[table], tables.known[table], tables.size[table], slot, 0.0)


@compiled
def adjust(
    tables: Tables,
    actions: Longs,  # [U]
    slots: Longs,  # [U]
    keys: Floats,  # [U, dims]
    values: Floats,  # [U]
) -> None:
    """Give entries new keys and values."""
    tables, keys = borrowed(tables), borrowed(keys)
    for i in range(len(actions)):
        put(tables, actions[i], slots[i], keys[i])
        tables.values[actions[i], slots[i]] = values[i]
