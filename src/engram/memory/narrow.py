"""Exact search among narrow keys, which lie in blocks, dimension by dimension: 64 entries at a time."""

import numpy as np

from engram.borrowing import seen_as
from engram.compiling import compiled
from engram.memory.keys import LANES, lanes
from engram.memory.lanes import WIDTH
from engram.memory.nearest import insert
from engram.memory.vectors import add_squares, below, column_minima, count_bits, lowest_bit, within
from engram.typing import Floats, Ints, Longs, Whole

COLUMNS = 16  # number of columns of a block whose minima give a first bound
STRIDE = 32  # dimensions between two checks whether entries can still be neighbours
ONE, FOUR = (0,), (0, 0, 0, 0)  # as many as there are vectors
ALL, BIT = np.uint64(0xFFFF_FFFF_FFFF_FFFF), np.uint64(1)


@compiled
def add_distances(
    keys: Floats, start: Whole, apart: int, query: Floats, bound: np.float32, out: Floats, place: int
) -> bool:
    """Squared distances of 64 entries, or of those that a block ends with; False as soon as all exceed the bound.

    The differences are taken directly, so that d² is 0 for an equal key only (or for one so near that the square of the
    difference is below the smallest float32). Partial sums of squares never fall, in floating point neither, so giving
    up early is exact.
    """
    dims, left = len(query), apart - place
    if left >= LANES:
        done = 0
        while done < dims:
            upto = min(done + STRIDE, dims)
            add_squares(keys, start, apart, query, done, upto, out, place, FOUR)
            done = upto
            if done < dims and within(out, place, bound, FOUR) == 0:
                return False
        return True
    if apart < WIDTH:
        for lane in range(left):
            total = np.float32(0)
            for dim in range(dims):
                difference = keys[start + dim * apart + lane] - query[dim]
                total += difference * difference
            out[place + lane] = total
        return True
    for lane in range(0, left, WIDTH):
        back = max(lane + WIDTH - left, 0)  # the last sixteen overlap with those before
        add_squares(keys, start + lane - back, apart, query, 0, dims, out, place + lane - back, ONE)
    return True


@compiled
def narrow_size(dims: int) -> int:
    """The size of the scratch space for searches among keys of so many dimensions."""
    return lanes(dims) + 2 * LANES + COLUMNS


@compiled
def first_bound(near: Floats, count: int, wanted: int, minima: Floats) -> np.float32:
    """A distance that at least `wanted` entries are within: the `wanted`-th smallest of the minima of 16 columns.

    Most entries lie beyond it and are skipped. Entries after the last whole 64 are left out.
    """
    column_minima(near, count // LANES * LANES, minima, 0)
    bound = np.float32(np.inf)
    for column in range(COLUMNS):
        if count_bits(within(minima, 0, minima[column], ONE)) >= wanted:
            bound = min(bound, minima[column])
    return bound


@compiled
def sort_nearest(near: Floats, places: Ints, count: int, distances: Floats, slots: Ints) -> int:
    """Put the nearest of up to 64 entries into the list, sorted; return how many there are in it.

    `near` has 64 numbers, infinite from `count` on, in the order of the entries' slots, so that of equal distances the
    first comes first.
    """
    wanted = len(slots)
    for i in range(count):
        earlier = (BIT << np.uint64(i)) - BIT
        nearer = (within(near, 0, near[i], FOUR) & earlier) | (below(near, 0, near[i], FOUR) & ~earlier)
        rank = count_bits(nearer)
        if rank < wanted:
            distances[rank], slots[rank] = near[i], places[i]
    return min(count, wanted)


@compiled
def lanes_within(near: Floats, group: int, used: int, bound: np.float32) -> np.uint64:
    """Which of 64 entries are within the bound, of those before `used`."""
    bits: np.uint64 = within(near, group, bound, FOUR)
    return bits if used - group >= LANES else bits & (ALL >> np.uint64(LANES + group - used))


@compiled
def find_within(
    near: Floats, used: int, bound: np.float32, some: Floats, places: Ints, distances: Floats, slots: Ints
) -> int:
    """List the nearest of a block's entries, at least as many as are wanted being within the bound.

    `some` and `places` are scratch space for 64.
    """
    some[:] = np.float32(np.inf)
    count, found = 0, 0
    for group in range(0, used, LANES):
        bits = lanes_within(near, group, used, bound)
        if count + count_bits(bits) > LANES:  # many are equally near: one by one
            count = -1
            break
        while bits:
            lane = lowest_bit(bits)
            bits &= bits - BIT
            some[count], places[count] = near[group + lane], group + lane
            count += 1
    if count >= 0:
        return sort_nearest(some, places, count, distances, slots)
    for slot in range(used):
        if near[slot] <= bound:
            found = insert(distances, slots, found, near[slot], slot)
    return found


@compiled
def search_block(
    keys: Floats,
    table: int,
    first: int,
    size: int,
    capacity: int,
    query: Floats,
    room: Floats,
    found: int,
    distances: Floats,
    slots: Ints,
) -> int:
    """Search the block that begins with slot `first`; return how many of the nearest are in the list then."""
    wanted, dims, step = len(slots), len(query), lanes(len(query))
    bound = distances[wanted - 1] if found == wanted else np.float32(np.inf)
    near, some = room[:step], room[step : step + LANES]
    places, minima = seen_as(room[step + LANES : step + 2 * LANES], np.int32), room[step + 2 * LANES :]
    width = min(step, capacity - first)
    start, used = (table * capacity + first) * dims, min(width, size - first)
    if first == 0 and wanted <= COLUMNS and used >= 4 * COLUMNS:
        for group in range(0, used, LANES):
            add_distances(keys, start + group, width, query, bound, near, group)
        bound = first_bound(near, used, wanted, minima)
        return find_within(near, used, bound, some, places, distances, slots)
    for group in range(0, used, LANES):
        if not add_distances(keys, start + group, width, query, bound, near, group):
            continue
        bits = lanes_within(near, group, used, bound)
        while bits:
            lane = lowest_bit(bits)
            bits &= bits - BIT
            found = insert(distances, slots, found, near[group + lane], first + group + lane)
            if found == wanted:
                bound = distances[wanted - 1]
    return found


@compiled
def search_narrow(
    keys: Floats, table: int, size: int, capacity: int, query: Floats, room: Floats, distances: Floats, slots: Ints
) -> int:
    """`search_table` for narrow keys."""
    found = 0
    for first in range(0, size, lanes(len(query))):
        found = search_block(keys, table, first, size, capacity, query, room, found, distances, slots)
    return found


@compiled
def search_narrow_for_all(
    keys: Floats,
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
    """`search_narrow` for several queries, block by block, so that a block comes into the cache once for all."""
    found[rows] = 0
    for first in range(0, size, lanes(queries.shape[1])):
        for b in rows:
            found[b] = search_block(
                keys, table, first, size, capacity, queries[b], room, found[b], distances[b], slots[b]
            )
