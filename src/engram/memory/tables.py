"""The arrays in which all tables of a memory lie, and the three things that can be done to an entry."""

from typing import NamedTuple

import numpy as np

from engram.compiling import compiled
from engram.memory import index, order
from engram.memory.search import blend_key
from engram.typing import Doubles, Floats, Ints, Longs, States, Whole


class Tables(NamedTuple):
    """One array of each kind for all tables; 36 bytes per entry besides its key."""

    keys: Floats  # [actions · capacity · dims], in blocks: see search.py
    values: Floats  # [actions, capacity]
    states: States  # [actions, capacity], the state that founded the entry
    buckets: Ints  # [actions, 2 · capacity], state → slot: see index.py
    ranks: Doubles  # [actions, capacity], the number that a built-in strategy keeps
    heap: Ints  # [actions, capacity], slots by rank: see order.py
    place: Ints  # [actions, capacity], where a slot stands in the heap
    size: Longs  # [actions], entries in use: slots 0 … size − 1
    writes: Longs  # [actions], writes that found the table full
    clock: Longs  # [1], ticks: one per query that touches, one per write
    companions: Floats  # [actions, capacity, width], what an optimiser knows of an entry; mostly of width 0


def new_tables(actions: int, capacity: int, dims: int, width: int = 0) -> Tables:
    """Empty tables. The pages of large arrays are taken from the system only when they are written."""
    return Tables(
        keys=np.zeros(actions * capacity * dims, np.float32),
        values=np.zeros((actions, capacity), np.float32),
        states=np.zeros((actions, capacity), np.uint64),
        buckets=np.zeros((actions, 2 * capacity), np.int32),
        ranks=np.zeros((actions, capacity), np.float64),
        heap=np.zeros((actions, capacity), np.int32),
        place=np.zeros((actions, capacity), np.int32),
        size=np.zeros(actions, np.int64),
        writes=np.zeros(actions, np.int64),
        clock=np.zeros(1, np.int64),
        companions=np.zeros((actions, capacity, width), np.float32),
    )


@compiled
def store(tables: Tables, table: int, slot: Whole, key: Floats, value: float, state: np.uint64) -> None:
    """Put a state into a slot: the next free one, or one whose entry is forgotten."""
    capacity = tables.values.shape[1]
    states = tables.states[table]
    if slot < tables.size[table]:
        index.remove(tables.buckets[table], states, slot)
    else:
        tables.size[table] += 1
    states[slot] = state
    index.insert(tables.buckets[table], states, slot)
    blend_key(tables.keys, table, slot, capacity, key, 1.0)
    tables.values[table, slot] = value
    tables.companions[table, slot] = 0


@compiled
def merge(tables: Tables, table: int, slot: Whole, key: Floats, value: float, weight: float) -> None:
    """Move an entry towards a state: c ← c + w (s − c), Q ← Q + w (R − Q)."""
    blend_key(tables.keys, table, slot, tables.values.shape[1], key, weight)
    old = np.float64(tables.values[table, slot])
    tables.values[table, slot] = old + weight * (value - old)
    companions = tables.companions[table, slot]
    for i in range(len(companions)):
        companions[i] *= np.float32(1 - weight)  # of the state itself the optimiser knows nothing: 0


@compiled
def update(tables: Tables, table: int, slot: Whole, key: Floats, value: float, step: float) -> None:
    """Renew a state met before: its best return (step 0), or a step towards the return and the newer key."""
    old = np.float64(tables.values[table, slot])
    if step == 0:
        tables.values[table, slot] = max(old, value)
    else:
        blend_key(tables.keys, table, slot, tables.values.shape[1], key, 1.0)
        tables.values[table, slot] = old + step * (value - old)


@compiled
def fill(tables: Tables, table: int, keys: Floats, ordered: bool) -> None:
    """Lay out the keys of entries whose states and ranks are in place, and make them findable and ordered."""
    capacity = tables.values.shape[1]
    for slot in range(len(keys)):
        blend_key(tables.keys, table, slot, capacity, keys[slot], 1.0)
        index.insert(tables.buckets[table], tables.states[table], slot)
        if ordered:
            tables.heap[table, slot] = tables.place[table, slot] = slot
            order.restore(tables.heap[table], tables.place[table], tables.ranks[table], slot + 1, slot)


@compiled
def adjust(
    tables: Tables,
    actions: Longs,  # [U]
    slots: Longs,  # [U]
    keys: Floats,  # [U, dims]
    values: Floats,  # [U]
    ranked_by_value: bool,
) -> None:
    """Give entries new keys and values; where the value is the rank, they move in the order too."""
    capacity = tables.values.shape[1]
    for i in range(len(actions)):
        table, slot = actions[i], slots[i]
        blend_key(tables.keys, table, slot, capacity, keys[i], 1.0)
        tables.values[table, slot] = values[i]
        if ranked_by_value:
            ranks = tables.ranks[table]
            ranks[slot] = values[i]
            order.restore(tables.heap[table], tables.place[table], ranks, tables.size[table], slot)
