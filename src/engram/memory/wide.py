"""Exact search among wide keys in three stages: all sketches, the upper halves of keys that may be near, whole keys.

The first two stages give lower bounds of the true distance, so an entry whose lower bound is too far is skipped without
error. The entries that are nearest by their sketches come first: then the distance to beat is small early on, and most
of the others are skipped.
"""

from math import sqrt

import numpy as np

from engram.compiling import compiled
from engram.memory.keys import LANES, join
from engram.memory.nearest import any_within, insert
from engram.memory.sketch import AXES, UNDERFLOW, Sketch, arrays_of, has_axes, place, reach, sketch_distances
from engram.memory.vectors import WIDTH, prefetch, squared_distance_of_both, squared_distance_of_halves
from engram.typing import Array, Floats, Ints, Whole

TILE = 16384  # entries whose sketches are compared before their keys
CHUNK = 512  # entries whose upper halves are compared before whole keys
AHEAD = 16  # keys that are prefetched
COLUMNS = 64  # number of columns of a tile whose minima are compared first
ROUNDED = 2.0**-8  # largest relative error of the upper half of a number
SLACK = 2.0**-14  # relative allowance for rounding in sums of float32


@compiled
def length(query: Floats) -> float:
    """The norm |q| of a query, in double precision."""
    total = 0.0
    for dim in range(len(query)):
        total += np.float64(query[dim]) ** 2
    return sqrt(total)


@compiled
def list_nearest(distances: Floats, out: Ints) -> int:
    """List the indices of some of the smallest distances in `out`; return how many.

    They are the minima of the columns of a tile, without the larger half of them.
    """
    minima = np.empty(COLUMNS, np.float32)
    rows = np.zeros(COLUMNS, np.int32)
    minima[:] = distances[:COLUMNS]
    for start in range(COLUMNS, len(distances) - COLUMNS + 1, COLUMNS):
        row = distances[start : start + COLUMNS]
        for column in range(COLUMNS):
            smaller = row[column] < minima[column]
            minima[column] = row[column] if smaller else minima[column]
            rows[column] = np.int32(start) if smaller else rows[column]
    middle = np.sort(minima)[COLUMNS // 2]
    count = 0
    for column in range(COLUMNS):
        if minima[column] <= middle:
            out[count] = rows[column] + column
            count += 1
    return count


@compiled
def list_within(distances: Floats, within: np.float32, out: Ints) -> int:
    """List the indices of the distances within the bound in `out`, which is one longer; return how many."""
    count = 0
    for group in range(0, len(distances), LANES):
        some = distances[group : min(group + LANES, len(distances))]
        if any_within(some, within):
            for lane in range(len(some)):
                out[count] = group + lane
                count += int(some[lane] <= within)
    return count


@compiled
def keep_within(halves: Array, base: Whole, query: Floats, within: np.float32, listed: Ints, distances: Floats) -> int:
    """Keep those of the listed entries whose upper halves are within the bound; return how many.

    The halves of entry i begin at base + i · dims. `distances` is scratch space, one number per listed entry.
    """
    dims, count, kept = len(query), len(listed), 0
    for i in range(count):
        prefetch(halves, base + listed[min(i + AHEAD, count - 1)] * dims, dims)
        distances[i] = squared_distance_of_halves(halves, base + listed[i] * dims, query)
    for i in range(count):
        listed[kept] = listed[i]
        kept += int(distances[i] <= within)
    return kept


@compiled
def exact_distance(halves: Array, start: Whole, query: Floats, last: Floats) -> np.float32:
    """d² of a query to a whole key: sums of sixteen lanes, then the dimensions left over (`last` is scratch space)."""
    total = squared_distance_of_both(halves, start, len(halves) // 2 + start, query)
    done = len(query) - len(last)
    if len(last) > 0:
        join(halves, start + done, last)
        for dim in range(len(last)):
            difference = last[dim] - query[done + dim]
            total += difference * difference
    return np.float32(total)


@compiled
def reach_of_halves(norm: float, bound: float) -> float:
    """The d² to the upper halves of a key beyond which the whole key cannot be within the bound.

    With x′ the upper halves, |x − x′| ≤ c |x| ≤ c (|q| + |q − x|), so |q − x′| ≤ (1 + c) |q − x| + c |q|.
    """
    return (((1 + ROUNDED) * sqrt(bound) + ROUNDED * norm) * (1 + SLACK) + UNDERFLOW) ** 2


@compiled
def look_at(
    halves: Array,
    start: Whole,
    first: int,
    query: Floats,
    norm: float,
    listed: Ints,
    distances: Floats,
    slots: Ints,
    found: int,
) -> int:
    """Compare the listed entries of a tile and insert the nearest; return how many have been found.

    The first entry of the tile is slot `first` of its table and entry `start` of all tables together.
    """
    dims, wanted = len(query), len(slots)
    last = np.empty(dims % WIDTH, np.float32)
    room = np.empty(CHUNK, np.float32)
    for some in range(0, len(listed), CHUNK):
        chunk = listed[some : some + CHUNK]
        kept = len(chunk)
        if found == wanted:
            far = np.float32(reach_of_halves(norm, np.float64(distances[wanted - 1])))
            kept = keep_within(halves, start * dims, query, far, chunk, room)
        for i in range(kept):
            ahead = (start + chunk[min(i + AHEAD, kept - 1)]) * dims
            prefetch(halves, ahead, dims)
            prefetch(halves, len(halves) // 2 + ahead, dims)
            distance = exact_distance(halves, (start + chunk[i]) * dims, query, last)
            found = insert(distances, slots, found, distance, first + chunk[i])
    return found


@compiled
def sketch_tile(codes: Array, axes: Floats, start: Whole, room: int, placed: Floats, near: Floats) -> None:
    """Squared distances of a tile's entries by their sketches, whose codes begin at `start`.

    The table has `room` slots from there on. Where keys are not sketched, the first entries of the tile come first.
    """
    if not has_axes(axes):
        near[:] = np.float32(1)
        near[:COLUMNS] = np.float32(0)
        return
    block = np.empty(LANES, np.float32)
    for first in range(0, len(near), LANES):
        width = min(LANES, room - first)
        begin = start + first * AXES
        sketch_distances(codes[begin : begin + width * AXES], placed, block[:width])
        some = near[first : first + width]
        some[:] = block[: len(some)]


@compiled
def search_wide(
    keys: Floats,
    sketch: Sketch,
    table: int,
    size: int,
    capacity: int,
    query: Floats,
    distances: Floats,
    slots: Ints,
) -> int:
    """`search_table` for wide keys."""
    wanted, found = len(slots), 0
    codes, axes = arrays_of(sketch)
    halves = keys.view(np.uint16)
    norm = length(query)
    sketched = has_axes(axes)
    placed = np.empty(AXES, np.float32)
    if sketched:
        place(axes, query, placed)
    near = np.empty(min(TILE, size), np.float32)
    listed = np.empty(min(TILE, size) + 1, np.int32)
    for first in range(0, size, TILE):
        tile = near[: min(TILE, size - first)]
        start = table * capacity + first
        sketch_tile(codes, axes, start * AXES, capacity - first, placed, tile)
        for turn in range(2):  # those nearest in the sketch, then the others
            if turn == 0:
                if len(tile) < 4 * COLUMNS:
                    continue
                count = list_nearest(tile, listed)
                for i in range(count):
                    tile[listed[i]] = np.float32(np.nan)  # within no bound: done
            else:
                within = np.float32(np.inf)
                if sketched and found == wanted:
                    within = np.float32(reach(axes, np.float64(distances[wanted - 1]), SLACK))
                count = list_within(tile, within, listed)
            found = look_at(halves, start, first, query, norm, listed[:count], distances, slots, found)
    return found
