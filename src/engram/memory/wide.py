"""Exact search among wide keys in four stages: coarse sketches, fine ones, the upper halves of keys, whole keys.

All stages but the last give lower bounds of the true distance, so an entry whose lower bound is too far is skipped
without error. The entries that are nearest by their coarse sketches come first: then the distance to beat is small
early on, and most of the others are skipped.
"""

from math import sqrt

import numpy as np

from engram.compiling import compiled
from engram.memory.keys import join
from engram.memory.nearest import insert
from engram.memory.sketch import (
    AXES,
    COARSE,
    FINE,
    QUAD,
    UNDERFLOW,
    Sketch,
    arrays_of,
    coarse_distances,
    encode_query,
    has_axes,
    padded,
)
from engram.memory.vectors import (
    WIDTH,
    dot_products,
    lowest_bit,
    prefetch,
    squared_distance_of_both,
    squared_distance_of_halves,
)
from engram.memory.vectors import within as not_above
from engram.typing import Array, Floats, Ints, Whole

TILE = 16384  # entries whose sketches are compared before their keys
CHUNK = 512  # entries whose upper halves are compared before whole keys
AHEAD = 16  # keys that are prefetched
COLUMNS = 64  # number of columns of a tile whose minima are compared first
ONE, BIT = (0,), np.uint64(1)
SHARE = 0.75  # of a squared distance that the coarse axes have, about
DONE = np.int32(2**31 - 1)  # in the place of a distance: within no bound
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
def list_nearest(distances: Ints, wanted: int, out: Ints) -> int:
    """List the indices of some of the smallest distances in `out`; return how many, at least as are wanted if it can.

    They are the minima of the columns of a tile, if possible without the larger half of them.
    """
    minima = np.empty(COLUMNS, np.int32)
    rows = np.zeros(COLUMNS, np.int32)
    minima[:] = distances[:COLUMNS]
    for start in range(COLUMNS, len(distances) - COLUMNS + 1, COLUMNS):
        row = distances[start : start + COLUMNS]
        for column in range(COLUMNS):
            smaller = row[column] < minima[column]
            minima[column] = row[column] if smaller else minima[column]
            rows[column] = np.int32(start) if smaller else rows[column]
    limit = np.sort(minima)[min(max(wanted, COLUMNS // 2), COLUMNS - 1)]
    count = 0
    for column in range(COLUMNS):
        if minima[column] <= limit:
            out[count] = rows[column] + column
            count += 1
    return count


@compiled
def list_within(
    codes: Array,
    norms: Ints,
    start: Whole,
    place: Whole,
    quads: Ints,
    about: Floats,
    bound: float,
    near: Ints,
    count: int,
    out: Ints,
) -> int:
    """List the entries of a tile in `out`, which is one longer, that their sketches do not rule out; return how many.

    `near` has their coarse distances, for whole sixteens; the first `count` are entries. Fine codes begin at `start`,
    their norms at `place`.
    """
    root = (sqrt(bound) + UNDERFLOW) * (1 + SLACK)
    steps = root / about[2] + about[1] * (1 + SLACK)
    within = np.int32(min(steps * steps, 2.0**31 - 2))
    coarse_factor, coarse_less = least_square(root * sqrt(SHARE), about[1], about[2])
    fine_factor, fine_less = least_square(root * sqrt(1 - SHARE), about[4], about[5])
    limit = np.float32(root * root + coarse_less + fine_less)
    listed, constant, infinite = 0, np.int32(about[3]), np.float32(np.inf)
    dots, lowest = np.empty(WIDTH, np.int32), np.empty(WIDTH, np.float32)
    for first in range(0, count, WIDTH):
        any_near = np.int32(0)
        for lane in range(WIDTH):
            any_near += np.int32(near[first + lane] <= within)
        if any_near == 0:
            continue
        dot_products(codes, start + first * FINE, quads, COARSE // QUAD, FINE // QUAD, dots, 0)
        for lane in range(WIDTH):
            fine = norms[place + first + lane] + constant - 2 * dots[lane]
            least = coarse_factor * np.float32(near[first + lane]) + fine_factor * np.float32(fine)
            lowest[lane] = least if near[first + lane] <= within else infinite
        bits = not_above(lowest, 0, limit, ONE)
        if count - first < WIDTH:
            bits &= (BIT << np.uint64(count - first)) - BIT
        while bits:
            out[listed] = first + lowest_bit(bits)
            listed += 1
            bits &= bits - BIT
    return listed


@compiled
def least_square(root: float, error: np.float32, step: np.float32) -> tuple[np.float32, float]:
    """A factor f and a number g, such that d² ≥ f D − g for a distance d and the square D of its sketch, in steps.

    A sketch is off by e steps at most, so d ≥ (√D − e) s. As √D ≤ (D/r + r)/2, (√D − e)² ≥ D (1 − e/r) − e r + e² for
    every r, and where √D < e < r the right side is below 0. It is tightest for √D = r, so r is what `root` is in steps,
    and at least 2 e.
    """
    e, s = np.float64(error), np.float64(step)
    r = max(root / s + e, 2 * e)
    return np.float32(s * s * (1 - e / r) * (1 - SLACK)), s * s * (e * r - e * e)


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
    codes, norms, axes = arrays_of(sketch)
    halves = keys.view(np.uint16)
    norm = length(query)
    sketched = has_axes(axes)
    quads, about = np.zeros(AXES // QUAD, np.int32), np.zeros(6, np.float32)
    room = padded(capacity)
    coarse, fine = table * room * AXES, table * room * AXES + room * COARSE
    if sketched:
        encode_query(axes, query, quads, about)
    near = np.empty(padded(min(TILE, size)), np.int32)
    listed = np.empty(min(TILE, size) + 1, np.int32)
    for first in range(0, size, TILE):
        count = min(TILE, size - first)
        tile, start = near[: padded(count)], table * capacity + first
        if sketched:
            coarse_distances(codes, norms, coarse + first * COARSE, 2 * table * room + first, quads, about, tile)
        else:  # the first entries come first
            tile[:] = np.int32(1)
            tile[:COLUMNS] = np.int32(0)
        if count >= 4 * COLUMNS:
            few = list_nearest(tile[:count], wanted, listed)
            for i in range(few):
                tile[listed[i]] = DONE
            found = look_at(halves, start, first, query, norm, listed[:few], distances, slots, found)
        if sketched and found == wanted:
            place, bound = 2 * table * room + room + first, np.float64(distances[wanted - 1])
            left = list_within(codes, norms, fine + first * FINE, place, quads, about, bound, tile, count, listed)
        else:
            left = 0
            for i in range(count):
                listed[left] = i
                left += int(tile[i] != DONE)
        found = look_at(halves, start, first, query, norm, listed[:left], distances, slots, found)
    return found
