"""Exact k-nearest-neighbour search by squared Euclidean distance: narrow keys in blocks, wide ones by sketches."""

import numpy as np

from engram.compiling import compiled
from engram.memory.keys import is_wide
from engram.memory.narrow import narrow_size, search_narrow, search_narrow_for_all
from engram.memory.sketch import ROOM, Sketch
from engram.memory.wide import prepare_wide, search_wide
from engram.typing import Floats, Ints, Longs


@compiled
def search_room(dims: int) -> Floats:
    """Scratch space for searches among keys of so many dimensions."""
    return np.empty(max(ROOM, narrow_size(dims)), np.float32)


@compiled
def prepare(sketch: Sketch, capacity: int, query: Floats, room: Floats) -> None:
    """Compute once what the searches of all tables need of a query; it goes to `room`, see `search_room`."""
    if is_wide(len(query), capacity):
        prepare_wide(sketch, query, room)


@compiled
def search_table(
    keys: Floats,
    sketch: Sketch,
    table: int,
    size: int,
    capacity: int,
    query: Floats,
    room: Floats,
    distances: Floats,
    slots: Ints,
) -> int:
    """Find one table's nearest entries, nearest first, ties to the lowest slot; return how many there are.

    `distances` and `slots` have room for as many as are wanted. `sketch` may be None where keys have none. `room` is
    scratch space for which the query was prepared.
    """
    if is_wide(len(query), capacity):
        return search_wide(keys, sketch, table, size, capacity, query, room, distances, slots)
    return search_narrow(keys, table, size, capacity, query, room, distances, slots)


@compiled
def search_for_all(
    keys: Floats,
    sketch: Sketch,
    table: int,
    size: int,
    capacity: int,
    queries: Floats,  # [B, dims]
    rows: Longs,  # of the queries to search for
    room: Floats,
    distances: Floats,  # [B, k]
    slots: Ints,  # [B, k]
    found: Longs,  # [B]
) -> None:
    """`search_table` for several queries; they need not have been prepared."""
    if not is_wide(queries.shape[1], capacity):
        search_narrow_for_all(keys, table, size, capacity, queries, rows, room, distances, slots, found)
        return
    for b in rows:
        prepare(sketch, capacity, queries[b], room)
        found[b] = search_wide(keys, sketch, table, size, capacity, queries[b], room, distances[b], slots[b])
