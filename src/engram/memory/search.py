"""Exact k-nearest-neighbour search by squared Euclidean distance: narrow keys in blocks, wide ones by sketches."""

import numpy as np

from engram.compiling import compiled
from engram.memory.narrow import narrow_size, search_narrow, search_narrow_for_all
from engram.memory.sketch import ROOM, Sketch
from engram.memory.wide import prepare_wide, search_wide
from engram.typing import Floats, Ints, Longs


@compiled
def search_room(dims: int) -> Floats:
    """Scratch space for searches among keys of so many dimensions."""
    return np.empty(max(ROOM, narrow_size(dims)), np.float32)


@compiled
def prepare(sketch: Sketch, query: Floats, room: Floats) -> None:
    """Compute once what the searches of all tables need of a query; it goes to `room`, see `search_room`."""
    if len(sketch) != 0:
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

    `distances` and `slots` have room for as many as are wanted. `sketch` is () where keys are narrow: its length
    is known when this is compiled, so that a kernel holds one of the two searches only. `room` is scratch space for
    which the query was prepared.
    """
    if len(sketch) == 0:
        return search_narrow(keys, table, size, capacity, query, room, distances, slots)
    return search_wide(keys, sketch, table, size, capacity, query, room, distances, slots)


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
    if len(sketch) == 0:
        search_narrow_for_all(keys, table, size, capacity, queries, rows, room, distances, slots, found)
    else:
        for b in rows:
            prepare_wide(sketch, queries[b], room)
            found[b] = search_wide(keys, sketch, table, size, capacity, queries[b], room, distances[b], slots[b])
