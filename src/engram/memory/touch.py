"""Telling a compiled strategy which entries were read or adjusted."""

import numpy as np

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.memory.arguments import all_usable
from engram.memory.description import numbers_of
from engram.memory.read import Reading, weighted_mean
from engram.memory.search import prepare, search_room, search_table
from engram.memory.sketch import Sketch
from engram.memory.strategies.base import Touch
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategy_numbers import pack_numbers
from engram.memory.tables import Tables
from engram.typing import Doubles, Floats, Ints, Longs


@compiled
def read_and_touch(
    strategy: CompiledStrategy,
    keys: Floats,
    sketch: Sketch,
    values: Floats,
    ranks: Doubles,
    heap: Ints,
    known: Doubles,
    place: Ints,
    columns: Doubles,
    own: Doubles,
    size: Longs,
    clock: Longs,
    queries: Floats,  # [B, dims]
    neighbours: int,
    delta: float,
    inverse: bool,
    exact: bool,
    out: Floats,  # [B, actions]
) -> bool:
    """As `read`, and the strategy is told of every entry that is read: one tick of the clock per query."""
    if not all_usable(queries):
        return False
    keys, sketch, values, queries = borrowed(keys), borrowed(sketch), borrowed(values), borrowed(queries)
    ranks, heap, known, place = borrowed(ranks), borrowed(heap), borrowed(known), borrowed(place)
    columns, own = borrowed(columns), borrowed(own)
    reading = Reading(neighbours, delta, inverse, exact)
    actions, capacity = values.shape
    distances = np.empty(neighbours, np.float32)
    slots = np.empty(neighbours, np.int32)
    room = search_room(queries.shape[1])
    for b in range(len(queries)):
        clock[0] += 1
        prepare(sketch, queries[b], room)
        for action in range(actions):
            found = search_table(keys, sketch, action, size[action], capacity, queries[b], room, distances, slots)
            out[b, action] = weighted_mean(values[action], distances, slots, found, reading)
            numbers = pack_numbers(
                strategy,
                ranks[action],
                heap[action],
                known[action],
                place[action],
                columns[action],
                own[action],
                size[action],
            )
            strategy.touched(Touch(slots[:found], distances[:found], clock[0]), numbers)
    return True


@compiled
def touch_slots(
    strategy: CompiledStrategy,
    tables: Tables,
    actions: Longs,  # [R]
    slots: Ints,  # [R, k]
    distances: Floats,  # [R, k]
    found: Longs,  # [R]
    rows: int,
) -> None:
    """Tell a strategy of entries that were looked up; each query has `rows` rows and is one tick of the clock."""
    tables, slots, distances = borrowed(tables), borrowed(slots), borrowed(distances)
    for r in range(len(actions)):
        if r % rows == 0:
            tables.clock[0] += 1
        touch = Touch(slots[r, : found[r]], distances[r, : found[r]], tables.clock[0])
        strategy.touched(touch, numbers_of(strategy, tables, actions[r]))


@compiled
def note_adjusted(strategy: CompiledStrategy, tables: Tables, actions: Longs, slots: Longs) -> None:
    """Tell a strategy of entries that were given new values."""
    tables = borrowed(tables)
    for i in range(len(actions)):
        value = np.float64(tables.values[actions[i], slots[i]])
        strategy.adjusted(slots[i], value, numbers_of(strategy, tables, actions[i]))
