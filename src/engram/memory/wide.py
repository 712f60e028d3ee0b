"""Exact search among wide keys in four stages: coarse sketches, fine ones, the upper halves of keys, whole keys.

All stages but the last give lower bounds of the true distance, so an entry whose lower bound is too far is skipped
without error. The entries that are nearest by their coarse sketches come first: then the distance to beat is small
early on, and most of the others are skipped.
"""

from math import sqrt

import numpy as np

from engram.borrowing import seen_as
from engram.compiling import compiled
from engram.memory.byte_products import dot_product, dot_products
from engram.memory.keys import join
from engram.memory.lanes import WIDTH
from engram.memory.nearest import insert
from engram.memory.sketch import (
    AXES,
    COARSE,
    FINE,
    QUAD,
    UNDERFLOW,
    encode_query,
    has_axes,
    padded,
)
from engram.memory.vectors import (
    HAS_COMPRESSION,
    list_whole_within,
    prefetch,
    squared_distance_of_both,
    squared_distance_of_halves,
)
from engram.typing import Array, Floats, Ints, Whole

TILE = 16384  # entries whose sketches are compared before their keys
CHUNK = 512  # entries whose upper halves are compared before whole keys
AHEAD = 16  # keys that are prefetched
AHEAD_FINE = 96  # fine codes that are: main memory takes as long to answer as comparing so many does
QUADS = AXES // QUAD
COLUMNS = 64  # number of columns of a tile whose minima are compared first
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
def coarse_distances(
    codes: Array,
    norms: Ints,
    start: Whole,
    place: Whole,
    quads: Ints,
    about: Floats,
    count: int,
    out: Ints,
    minima: Ints,
    rows: Ints,
) -> None:
    """Squared distances between the query's coarse sketch and those of `count` entries, in steps, to `out`.

    `out` has room for whole sixteens. The smallest of every column of the whole rows goes to `minima`, and to `rows`
    the first entry of its row. Coarse codes begin at `start`, their norms at `place`.
    """
    constant = np.int32(about[0])
    minima[:] = DONE
    for first in range(0, count - COLUMNS + 1, COLUMNS):
        for some in range(first, first + COLUMNS, WIDTH):
            dot_products(codes, start + some * COARSE, quads, 0, COARSE // QUAD, out, some)
        row, known = out[first : first + COLUMNS], norms[place + first : place + first + COLUMNS]
        for column in range(COLUMNS):
            distance = known[column] + constant - 2 * row[column]
            row[column] = distance
            smaller = distance < minima[column]
            minima[column] = distance if smaller else minima[column]
            rows[column] = np.int32(first) if smaller else rows[column]
    for first in range(count // COLUMNS * COLUMNS, count, WIDTH):
        dot_products(codes, start + first * COARSE, quads, 0, COARSE // QUAD, out, first)
        for lane in range(first, first + WIDTH):
            out[lane] = norms[place + lane] + constant - 2 * out[lane]


@compiled
def list_nearest(minima: Ints, rows: Ints, wanted: int, out: Ints) -> int:
    """List the entries of some of the columns' minima in `out`; return how many, at least as are wanted if it can.

    If possible, the larger half of them is left out.
    """
    rank, limit, count = min(max(wanted, COLUMNS // 2), COLUMNS - 1), DONE, 0
    for column in range(COLUMNS):
        smaller, equal = 0, 0
        for other in range(COLUMNS):
            smaller += int(minima[other] < minima[column])
            equal += int(minima[other] == minima[column])
        if smaller <= rank < smaller + equal:
            limit = minima[column]
            break
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
    """List the entries of a tile that their sketches do not rule out in `out`; return how many.

    `near` has their coarse distances, for whole sixteens; the first `count` are entries. `out` is sixteen longer. Fine
    codes begin at `start`, their norms at `place`.
    """
    root = (sqrt(bound) + UNDERFLOW) * (1 + SLACK)
    steps = root / about[2] + about[1] * (1 + SLACK)
    within = np.int32(min(steps * steps, 2.0**31 - 2))
    left = 0
    done = count // WIDTH * WIDTH if HAS_COMPRESSION else 0
    if HAS_COMPRESSION:
        for first in range(0, done, WIDTH):
            left = list_whole_within(near, first, within, first, out, left)
    for entry in range(done, count):  # without branches: which entries are near is hard to predict
        out[left] = entry
        left += int(near[entry] <= within)
    coarse_factor, coarse_less = least_square(root * sqrt(SHARE), about[1], about[2])
    fine_factor, fine_less = least_square(root * sqrt(1 - SHARE), about[4], about[5])
    limit, constant = np.float32(root * root + coarse_less + fine_less), np.int32(about[3])
    listed = 0
    for i in range(left):
        entry = out[i]
        prefetch(codes, start + out[min(i + AHEAD_FINE, left - 1)] * FINE, FINE)
        fine = norms[place + entry] + constant - 2 * dot_product(codes, start + entry * FINE, quads, COARSE // QUAD)
        out[listed] = entry
        listed += int(coarse_factor * np.float32(near[entry]) + fine_factor * np.float32(fine) <= limit)
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
def prepare_wide(sketch: tuple[Array, Ints, Floats], query: Floats, room: Floats) -> None:
    """Put the query's sketch into `room`, for the searches of all tables."""
    _, _, axes = sketch
    if has_axes(axes):
        encode_query(axes, query, seen_as(room[:QUADS], np.int32), room[QUADS:])


@compiled
def search_wide(
    keys: Floats,
    sketch: tuple[Array, Ints, Floats],
    table: int,
    size: int,
    capacity: int,
    query: Floats,
    room: Floats,
    distances: Floats,
    slots: Ints,
) -> int:
    """`search_table` for wide keys."""
    wanted, found = len(slots), 0
    codes, norms, axes = sketch
    halves = seen_as(keys, np.uint16)
    norm, sketched = length(query), has_axes(axes)
    quads, about = seen_as(room[:QUADS], np.int32), room[QUADS:]
    whole = padded(capacity)
    coarse, fine = table * whole * AXES, table * whole * AXES + whole * COARSE
    near = np.empty(padded(min(TILE, size)), np.int32)
    listed = np.empty(padded(min(TILE, size)) + WIDTH, np.int32)
    minima, rows = np.empty(COLUMNS, np.int32), np.empty(COLUMNS, np.int32)
    for first in range(0, size, TILE):
        count = min(TILE, size - first)
        tile, start = near[: padded(count)], table * capacity + first
        if sketched:
            place = 2 * table * whole + first
            coarse_distances(codes, norms, coarse + first * COARSE, place, quads, about, count, tile, minima, rows)
        else:
            tile[:] = 0
        few = 0
        if count >= 4 * COLUMNS:
            if sketched:
                few = list_nearest(minima, rows, wanted, listed)
            else:  # the first entries come first
                few = COLUMNS
                for i in range(COLUMNS):
                    listed[i] = i
            for i in range(few):
                tile[listed[i]] = DONE
            found = look_at(halves, start, first, query, norm, listed[:few], distances, slots, found)
        if sketched and found == wanted:
            place, bound = (2 * table + 1) * whole + first, np.float64(distances[wanted - 1])
            left = list_within(codes, norms, fine + first * FINE, place, quads, about, bound, tile, count, listed)
        else:
            left = 0
            for i in range(count):
                listed[left] = i
                left += int(tile[i] != DONE)
        found = look_at(halves, start, first, query, norm, listed[:left], distances, slots, found)
    return found
