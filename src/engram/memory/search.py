"""Exact k-nearest-neighbour search by squared Euclidean distance: narrow keys in blocks, wide ones by sketches."""

from engram.compiling import compiled
from engram.memory.keys import WIDE
from engram.memory.narrow import search_narrow
from engram.memory.sketch import Sketch
from engram.memory.wide import search_wide
from engram.typing import Floats, Ints


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
    scratch space, see `search_room`.
    """
    if len(query) >= WIDE:
        return search_wide(keys, sketch, table, size, capacity, query, distances, slots)
    return search_narrow(keys, table, size, capacity, query, room, distances, slots)
