"""Exact k-nearest-neighbour search by squared Euclidean distance.

The keys of a table lie in blocks of `lanes(dims)` entries, and within a block dimension by dimension:

    block 0: x₀ of 64 entries, x₁ of 64 entries, …   block 1: …   last block: as wide as what is left

so that one vector instruction serves neighbouring entries, no distance needs a sum across lanes, and no
byte is padding. All tables follow one another in one array.
"""

import numpy as np

from engram.compiling import compiled
from engram.typing import Floats, Ints, Whole

BLOCK = 4096  # numbers per block, about: half of what the first-level cache holds
LANES = 64  # entries per block at least
GROUP = 64  # entries of which one look tells whether any is near
COLUMNS = 16  # into which a block is divided for a first bound
STRIDE = 32  # dimensions between two looks at whether a block can still hold a neighbour


@compiled
def lanes(dims: int) -> int:
    """Entries per block."""
    return max(LANES, BLOCK // max(dims, 1) // LANES * LANES)


@compiled
def get_key(keys: Floats, table: int, slot: Whole, capacity: int, out: Floats) -> None:
    """Copy one entry's key out of its block."""
    dims = len(out)
    step = lanes(dims)
    first = slot // step * step
    width = min(step, capacity - first)
    block = keys[(table * capacity + first) * dims :]
    for dim in range(dims):
        out[dim] = block[dim * width + slot - first]


@compiled
def get_keys(keys: Floats, table: int, capacity: int, out: Floats) -> None:
    """Copy the first entries' keys out of their blocks, a row each."""
    for slot in range(len(out)):
        get_key(keys, table, slot, capacity, out[slot])


@compiled
def blend_key(keys: Floats, table: int, slot: Whole, capacity: int, key: Floats, weight: float) -> None:
    """c ← c + w (s − c); a weight of 1 puts the key there as it is."""
    dims = len(key)
    step = lanes(dims)
    first = slot // step * step
    width = min(step, capacity - first)
    block = keys[(table * capacity + first) * dims :]
    for dim in range(dims):
        place = dim * width + slot - first
        if weight == 1:
            block[place] = key[dim]
        else:
            block[place] = block[place] + weight * (key[dim] - block[place])


@compiled
def any_within(distances: Floats, bound: np.float32) -> bool:
    """Whether any distance does not exceed the bound, by a count that needs no branches."""
    within = np.int32(0)
    for lane in range(len(distances)):
        within += np.int32(distances[lane] <= bound)
    return bool(within > 0)


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
    """A distance that at least `wanted` entries do not exceed: of the minima of so many columns, the one in that place.

    Most entries lie beyond it, and need not be looked at one by one.
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
def search_table(
    keys: Floats, table: int, size: int, capacity: int, query: Floats, distances: Floats, slots: Ints
) -> int:
    """Find one table's nearest entries, nearest first, ties to the lowest slot; return how many there are.

    As many are sought as `distances` and `slots` are long.
    """
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
        for group in range(0, used, GROUP):
            near = scratch[group : min(group + GROUP, used)]
            if not any_within(near, bound):
                continue
            for lane in range(len(near)):
                distance = near[lane]
                if distance > bound or (found == wanted and distance == bound):
                    continue
                place = min(found, wanted - 1)
                while place > 0 and distances[place - 1] > distance:
                    distances[place] = distances[place - 1]
                    slots[place] = slots[place - 1]
                    place -= 1
                distances[place] = distance
                slots[place] = first + group + lane
                found = min(found + 1, wanted)
                if found == wanted:
                    bound = distances[wanted - 1]
    return found
