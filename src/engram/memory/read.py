"""Reading: Q(s, a) as the weighted mean of the values of the nearest entries."""

from typing import NamedTuple

import numpy as np

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.memory.arguments import all_usable
from engram.memory.hash_index import find
from engram.memory.keys import get_key, is_wide
from engram.memory.search import prepare, search_for_all, search_room, search_table
from engram.memory.sketch import Sketch
from engram.typing import Floats, Ints, Longs, States

TOGETHER = 256  # queries for which a table of narrow keys is read once


class Reading(NamedTuple):
    """The settings of a read."""

    neighbours: int  # k
    delta: float  # δ
    inverse: bool  # weights 1/(d² + δ); otherwise equal ones
    exact: bool  # d² = 0 gives the stored value


@compiled
def weighted_mean(values: Floats, distances: Floats, slots: Ints, found: int, reading: Reading) -> float:
    """Q = Σ wᵢ Qᵢ / Σ wᵢ with wᵢ = 1/(d² + δ), or wᵢ = 1; an exact match gives its own value; nothing gives 0."""
    if found == 0:
        return 0.0
    if reading.exact and distances[0] == 0:
        return np.float64(values[slots[0]])
    total = 0.0
    weights = 0.0
    if reading.inverse:
        for i in range(found):
            weight = 1 / (np.float64(distances[i]) + reading.delta)
            total += weight * values[slots[i]]
            weights += weight
    if weights == 0:  # the plain mean
        for i in range(found):
            total += values[slots[i]]
        weights = np.float64(found)
    return total / weights


@compiled
def read(
    keys: Floats,
    sketch: Sketch,
    values: Floats,
    size: Longs,
    queries: Floats,  # [B, dims]
    neighbours: int,
    delta: float,
    inverse: bool,
    exact: bool,
    out: Floats,  # [B, actions]
) -> bool:
    """Read every query in every table; return False without reading if a query cannot be searched."""
    if not all_usable(queries):
        return False
    keys, sketch, values, queries = borrowed(keys), borrowed(sketch), borrowed(values), borrowed(queries)
    reading = Reading(neighbours, delta, inverse, exact)
    actions, capacity = values.shape
    room = search_room(queries.shape[1])
    if len(queries) > 1 and not is_wide(queries.shape[1], capacity):
        count = min(len(queries), TOGETHER)
        found = np.empty(count, np.int64)
        distances, slots = np.empty((count, neighbours), np.float32), np.empty((count, neighbours), np.int32)
        for first in range(0, len(queries), TOGETHER):
            some = queries[first : first + TOGETHER]
            rows = np.arange(len(some))
            for action in range(actions):
                search_for_all(keys, sketch, action, size[action], capacity, some, rows, room, distances, slots, found)
                for b in rows:
                    q = weighted_mean(values[action], distances[b], slots[b], found[b], reading)
                    out[first + b, action] = q
        return True
    near, nearest = np.empty(neighbours, np.float32), np.empty(neighbours, np.int32)
    for row in range(len(queries)):
        prepare(sketch, queries[row], room)
        for action in range(actions):
            listed = search_table(keys, sketch, action, size[action], capacity, queries[row], room, near, nearest)
            out[row, action] = weighted_mean(values[action], near, nearest, listed, reading)
    return True


@compiled
def find_neighbours(
    keys: Floats,
    sketch: Sketch,
    table: int,
    size: int,
    capacity: int,
    queries: Floats,  # [B, dims]
    distances: Floats,  # [B, k]
    slots: Ints,  # [B, k]
) -> int:
    """The nearest entries of one table for every query; return how many each has."""
    keys, sketch, queries = borrowed(keys), borrowed(sketch), borrowed(queries)
    distances, slots = borrowed(distances), borrowed(slots)
    room, found = search_room(queries.shape[1]), np.zeros(len(queries), np.int64)
    rows = np.arange(len(queries))
    search_for_all(keys, sketch, table, size, capacity, queries, rows, room, distances, slots, found)
    return found[0] if len(found) else 0


@compiled
def look_up(
    keys: Floats,
    sketch: Sketch,
    values: Floats,
    size: Longs,
    actions: Longs,  # [B]
    queries: Floats,  # [B, dims]
    slots: Ints,  # [B, k]
    found: Longs,  # [B]
    near_keys: Floats,  # [B, k, dims]
    near_values: Floats,  # [B, k]
    distances: Floats,  # [B, k]
) -> None:
    """The nearest entries of each query in the table of its own action."""
    keys, sketch, values, queries = borrowed(keys), borrowed(sketch), borrowed(values), borrowed(queries)
    slots, near_keys, distances = borrowed(slots), borrowed(near_keys), borrowed(distances)
    capacity, room = values.shape[1], search_room(queries.shape[1])
    for action in range(len(size)):
        rows = np.flatnonzero(actions == action)
        search_for_all(keys, sketch, action, size[action], capacity, queries, rows, room, distances, slots, found)
        for b in rows:
            for i in range(found[b]):
                near_values[b, i] = values[action, slots[b, i]]
                get_key(keys, action, slots[b, i], capacity, near_keys[b, i])


@compiled
def weigh(
    values: Floats,
    size: Longs,
    slots: Ints,  # [B, actions, k]
    distances: Floats,  # [B, actions, k]
    neighbours: int,
    delta: float,
    inverse: bool,
    exact: bool,
    out: Floats,  # [B, actions]
) -> None:
    """Q of every query in every table, from neighbours that were found on a device."""
    reading = Reading(neighbours, delta, inverse, exact)
    for b in range(len(slots)):
        for action in range(len(size)):
            found = min(neighbours, size[action])
            out[b, action] = weighted_mean(values[action], distances[b, action], slots[b, action], found, reading)


@compiled
def read_stored(
    buckets: Ints,  # [actions, buckets]
    states: States,  # [actions, capacity]
    values: Floats,  # [actions, capacity]
    wanted: States,  # [T]
    out: Floats,  # [T, actions]
) -> None:
    """The value that each table has stored of each of these very states; NaN where it has none."""
    for t in range(len(wanted)):
        for action in range(len(values)):
            slot = find(buckets[action], states[action], wanted[t])
            out[t, action] = values[action, slot] if slot >= 0 else np.nan
