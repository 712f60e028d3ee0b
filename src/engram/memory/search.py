"""Exact k-nearest-neighbour search by squared Euclidean distance. Narrow keys are searched in blocks, see keys.py."""

import numpy as np

from engram.compiling import compiled
from engram.memory.keys import LANES, WIDE, lanes
from engram.memory.nearest import any_within, insert
from engram.memory.sketch import Sketch
from engram.memory.wide import search_wide
from engram.typing import Floats, Ints

COLUMNS = 16  # number of columns of a block whose minima give a first bound
STRIDE = 32  # dimensions between two checks whether a block can still hold a neighbour


@compiled
def block_distances(block: Floats, query: Floats, bound: np.float32, out: Floats) -> bool:
    """Squared distances of one block's entries to the query; False as soon as all of them exceed the bound.

    The differences are taken directly, so that d² is 0 for an equal key only (or for one so near that the
    square of the difference is below the smallest float32). Partial sums of squares never
    fall, in floating point neither, so giving up early is exact.
    """
    dims = len(query)
    width = len(out)
    out[:] = np.float32(0)
    done = 0
    while done < dims:
        upto = min(done + STRIDE, dims)
        while done + 4 <= upto:
            q0, q1, q2, q3 = query[done], query[done + 1], query[done + 2], query[done + 3]
            x0 = block[done * width : (done + 1) * width]
            x1 = block[(done + 1) * width : (done + 2) * width]
            x2 = block[(done + 2) * width : (done + 3) * width]
            x3 = block[(done + 3) * width : (done + 4) * width]
            for lane in range(width):
                d0 = x0[lane] - q0
                d1 = x1[lane] - q1
                d2 = x2[lane] - q2
                d3 = x3[lane] - q3
                out[lane] = (((out[lane] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3
            done += 4
        while done < upto:
            q0 = query[done]
            x0 = block[done * width : (done + 1) * width]
            for lane in range(width):
                d0 = x0[lane] - q0
                out[lane] = out[lane] + d0 * d0
            done += 1
        if done < dims and not any_within(out, bound):
            return False
    return True


@compiled
def first_bound(distances: Floats, wanted: int, smallest: Floats) -> np.float32:
    """A distance that at least `wanted` entries are within: the `wanted`-th smallest of the minima of 16 columns.

    Most entries lie beyond it and are skipped.
    """
    minima = np.empty(COLUMNS, np.float32)
    minima[:] = distances[:COLUMNS]
    for start in range(COLUMNS, len(distances) - COLUMNS + 1, COLUMNS):
        row = distances[start : start + COLUMNS]
        for column in range(COLUMNS):
            minima[column] = row[column] if row[column] < minima[column] else minima[column]
    found = 0
    for column in range(COLUMNS):
        if found == wanted and minima[column] >= smallest[wanted - 1]:
            continue
        place = min(found, wanted - 1)
        while place > 0 and smallest[place - 1] > minima[column]:
            smallest[place] = smallest[place - 1]
            place -= 1
        smallest[place] = minima[column]
        found = min(found + 1, wanted)
    return np.float32(smallest[wanted - 1])


@compiled
def search_narrow(
    keys: Floats, table: int, size: int, capacity: int, query: Floats, distances: Floats, slots: Ints
) -> int:
    """`search_table` for narrow keys."""
    wanted = len(slots)
    dims = len(query)
    step = lanes(dims)
    found = 0
    bound = np.float32(np.inf)
    scratch = np.empty(step, np.float32)
    for first in range(0, size, step):
        width = min(step, capacity - first)
        start = (table * capacity + first) * dims
        if not block_distances(keys[start : start + width * dims], query, bound, scratch[:width]):
            continue
        used = min(width, size - first)
        if first == 0 and wanted <= COLUMNS and used >= 4 * COLUMNS:
            bound = first_bound(scratch[:used], wanted, distances)
        for group in range(0, used, LANES):
            near = scratch[group : min(group + LANES, used)]
            if not any_within(near, bound):
                continue
            for lane in range(len(near)):
                if near[lane] > bound:
                    continue
                found = insert(distances, slots, found, near[lane], first + group + lane)
                if found == wanted:
                    bound = distances[wanted - 1]
    return found


@compiled
def search_table(
    keys: Floats,
    sketch: Sketch,
    table: int,
    size: int,
    capacity: int,
    query: Floats,
    distances: Floats,
    slots: Ints,
) -> int:
    """Find one table's nearest entries, nearest first, ties to the lowest slot; return how many there are.

    `distances` and `slots` have room for as many as are wanted. `sketch` may be None where keys have none.
    """
    if len(query) >= WIDE:
        return search_wide(keys, sketch, table, size, capacity, query, distances, slots)
    return search_narrow(keys, table, size, capacity, query, distances, slots)
