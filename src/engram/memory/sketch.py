"""A sketch of wide keys: twelve bytes each, from which most that are far away can be told.

A byte is the place of the key along one axis, in steps. The axes are at right angles, so the distance between two
sketches is at most that between the keys, but for rounding: what is too far in the sketch is too far. The axes
are those along which the keys of the memory vary most, found when there are enough of them and again whenever
twice as much has been written. Which axes they are changes the time that a search takes, and never what it finds.
"""

from math import sqrt

import numpy as np

from engram.compiling import compiled
from engram.memory.keys import LANES, WIDE, get_key
from engram.typing import Array, Floats, Longs, Whole

AXES = 12
Sketch = tuple[Array, Floats] | None  # codes and axes
LARGEST = 127.0  # a code; what lies further out is drawn in, which brings no two keys further apart
SPREAD = 3.0  # standard deviations along the first axis that the codes span
FEWEST = 1024  # entries of which axes can be found
LEAST = 0.35  # of the variance, which the axes must have for a sketch to be worth its time
SMALLEST = 1e-30  # a step, or the inverse of one, that float32 can hold
UNDERFLOW = 1e-20  # a distance whose square loses digits, or all of itself, in float32
SAMPLE = 2048  # entries of which axes are found
HALF_STEP = 0.501  # by which a code is off at most, and a little


def is_sketched(capacity: int, dims: int) -> bool:
    """Whether keys are wide, and tables so large that the axes take up next to nothing."""
    return dims >= WIDE and capacity >= 64 * dims


def new_codes(actions: int, capacity: int, dims: int) -> Array:
    """The codes of all entries, in blocks of 64 and within a block axis by axis, if keys are sketched."""
    return np.zeros(actions * capacity * AXES if is_sketched(capacity, dims) else 0, np.int8)


def new_axes(capacity: int, dims: int) -> Floats:
    """[dims + 2, axes], if keys are sketched: directions divided by the step, then offsets, then the step.

    At first all is 0, and nothing told apart.
    """
    return np.zeros((dims + 2 if is_sketched(capacity, dims) else 0, AXES), np.float32)


@compiled
def arrays_of(sketch: Sketch) -> tuple[Array, Floats]:
    """Codes and axes; empty ones where there is no sketch."""
    if sketch is None:
        return np.empty(0, np.int8), np.empty((0, AXES), np.float32)
    return sketch


@compiled
def has_axes(axes: Floats) -> bool:
    """Whether keys are sketched, and axes found."""
    return bool(len(axes) > 0 and axes[len(axes) - 1, 0] > 0)


@compiled
def place(axes: Floats, key: Floats, out: Floats) -> None:
    """Where a key lies along every axis, in steps."""
    dims = len(key)
    sums = axes[dims].astype(np.float64)
    for dim in range(dims):
        row, number = axes[dim], np.float64(key[dim])
        for axis in range(AXES):
            sums[axis] += np.float64(row[axis]) * number
    for axis in range(AXES):
        out[axis] = min(max(sums[axis], -LARGEST), LARGEST)


@compiled
def encode(codes: Array, axes: Floats, table: int, slot: Whole, capacity: int, key: Floats) -> None:
    """Keep the sketch of an entry's key."""
    placed = np.empty(AXES, np.float32)
    place(axes, key, placed)
    first = slot // LANES * LANES
    width = min(LANES, capacity - first)
    block = codes[(table * capacity + first) * AXES :]
    for axis in range(AXES):
        block[axis * width + slot - first] = np.int8(np.rint(placed[axis]))


@compiled
def encode_all(codes: Array, axes: Floats, keys: Floats, size: Longs, capacity: int) -> None:
    """Sketch every entry anew."""
    key = np.empty(len(axes) - 2, np.float32)
    for table in range(len(size)):
        for slot in range(size[table]):
            get_key(keys, table, slot, capacity, key)
            encode(codes, axes, table, slot, capacity, key)


@compiled
def sketch_distances(block: Array, placed: Floats, out: Floats) -> None:
    """Squared distances of one block's entries to the query in the sketch, in steps."""
    width = len(out)
    out[:] = np.float32(0)
    for axis in range(0, AXES, 4):
        q0, q1, q2, q3 = placed[axis], placed[axis + 1], placed[axis + 2], placed[axis + 3]
        x0 = block[axis * width : (axis + 1) * width]
        x1 = block[(axis + 1) * width : (axis + 2) * width]
        x2 = block[(axis + 2) * width : (axis + 3) * width]
        x3 = block[(axis + 3) * width : (axis + 4) * width]
        for lane in range(width):
            d0 = np.float32(x0[lane]) - q0
            d1 = np.float32(x1[lane]) - q1
            d2 = np.float32(x2[lane]) - q2
            d3 = np.float32(x3[lane]) - q3
            out[lane] = (((out[lane] + d0 * d0) + d1 * d1) + d2 * d2) + d3 * d3


@compiled
def reach(axes: Floats, bound: float, slack: float) -> float:
    """The squared distance in the sketch beyond which no key is within the bound, a squared distance of keys."""
    step = np.float64(axes[len(axes) - 1, 0])
    steps = ((sqrt(bound) + UNDERFLOW) / step + sqrt(AXES) * HALF_STEP) * (1 + slack)
    return steps * steps


def find_sketch(codes: Array, axes: Floats, keys: Floats, size: Longs, capacity: int) -> None:
    """Lay the axes along the directions in which the keys of all tables vary most, and sketch every entry."""
    find_axes(some_keys(keys, size, capacity, len(axes) - 2), axes)
    encode_all(codes, axes, keys, size, capacity)


def some_keys(keys: Floats, size: Longs, capacity: int, dims: int) -> Floats:
    """The keys of entries at equal steps through all tables, [n, dims]."""
    total, ends = int(size.sum()), np.cumsum(size)
    chosen = np.linspace(0, total - 1, min(total, SAMPLE)).astype(np.int64)
    tables = np.searchsorted(ends, chosen, side="right")
    out = np.empty((len(chosen), dims), np.float32)
    for row, (table, entry) in enumerate(zip(tables.tolist(), chosen.tolist(), strict=True)):
        get_key(keys, table, entry - int(ends[table] - size[table]), capacity, out[row])
    return out


def find_axes(keys: Floats, axes: Floats) -> None:
    """Lay the axes along the directions in which these keys [n, dims] vary most."""
    dims = keys.shape[1]
    mean = keys.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh(np.cov(keys.T, dtype=np.float64))
    step = SPREAD * sqrt(max(float(variances[-1]), 0.0)) / LARGEST
    told_apart = variances[-AXES:].sum() >= LEAST * variances.sum()
    axes[:] = 0
    if told_apart and SMALLEST < step < 1 / SMALLEST:
        axes[:dims] = directions[:, : -AXES - 1 : -1] / step
        axes[dims] = -mean @ axes[:dims]
        axes[dims + 1] = step
