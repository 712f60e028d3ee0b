"""Sketches of wide keys: twelve bytes per key that are enough to skip most keys that are far away.

Each byte is the coordinate of the key along one axis, in steps. The axes are orthogonal, so the distance between two
sketches is at most that between the keys, apart from rounding. The axes are the first principal components of the
stored keys, found when there are enough entries and again whenever twice as much has been written. They change how
long a search takes, never what it finds.
"""

from math import sqrt

import numpy as np

from engram.compiling import compiled
from engram.memory.keys import LANES, WIDE, get_key
from engram.typing import Array, Floats, Longs, Whole

AXES = 12
Sketch = tuple[Array, Floats] | None  # codes and axes
LARGEST = 127.0  # coordinates are clipped to this, which brings no two keys further apart
SPREAD = 3.0  # standard deviations along the first axis that the codes span
FEWEST = 1024  # entries before axes are found
LEAST = 0.35  # share of the variance that the axes must explain for a sketch to save time
SMALLEST = 1e-30  # smallest step, and smallest inverse of a step, that float32 can hold
UNDERFLOW = 1e-20  # distance whose square underflows in float32
SAMPLE = 2048  # entries from which axes are computed
HALF_STEP = 0.501  # largest rounding error of a code, and a little more


def is_sketched(capacity: int, dims: int) -> bool:
    """Whether keys are wide, and tables large enough for the axes to take little space beside them."""
    return dims >= WIDE and capacity >= 64 * dims


def codes_shape(actions: int, capacity: int, dims: int) -> tuple[int]:
    """The codes of all entries, in blocks of 64 and within a block axis by axis, if keys are sketched."""
    return (actions * capacity * AXES if is_sketched(capacity, dims) else 0,)


def axes_shape(capacity: int, dims: int) -> tuple[int, int]:
    """[dims + 2, axes], if keys are sketched: directions divided by the step, then offsets, then the step.

    All are 0 until axes are found.
    """
    return dims + 2 if is_sketched(capacity, dims) else 0, AXES


@compiled
def arrays_of(sketch: Sketch) -> tuple[Array, Floats]:
    """Codes and axes; empty ones where there is no sketch."""
    if sketch is None:
        return np.empty(0, np.int8), np.empty((0, AXES), np.float32)
    return sketch


@compiled
def has_axes(axes: Floats) -> bool:
    """Whether keys are sketched and axes have been found."""
    return bool(len(axes) > 0 and axes[len(axes) - 1, 0] > 0)


@compiled
def place(axes: Floats, key: Floats, out: Floats) -> None:
    """The coordinates of a key along every axis, in steps."""
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
    """Store the sketch of an entry's key."""
    placed = np.empty(AXES, np.float32)
    place(axes, key, placed)
    first = slot // LANES * LANES
    width = min(LANES, capacity - first)
    block = codes[(table * capacity + first) * AXES :]
    for axis in range(AXES):
        block[axis * width + slot - first] = np.int8(np.rint(placed[axis]))


@compiled
def encode_all(codes: Array, axes: Floats, keys: Floats, size: Longs, capacity: int) -> None:
    """Compute the sketches of all entries."""
    key = np.empty(len(axes) - 2, np.float32)
    for table in range(len(size)):
        for slot in range(size[table]):
            get_key(keys, table, slot, capacity, key)
            encode(codes, axes, table, slot, capacity, key)


@compiled
def sketch_distances(block: Array, placed: Floats, out: Floats) -> None:
    """Squared distances between the sketches of one block's entries and that of the query, in steps."""
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
    """The squared distance between sketches beyond which no key is within a squared distance `bound`."""
    step = np.float64(axes[len(axes) - 1, 0])
    steps = ((sqrt(bound) + UNDERFLOW) / step + sqrt(AXES) * HALF_STEP) * (1 + slack)
    return steps * steps


def find_sketch(codes: Array, axes: Floats, keys: Floats, size: Longs, capacity: int) -> None:
    """Find the axes from the keys of all tables, and compute all sketches."""
    find_axes(some_keys(keys, size, capacity, len(axes) - 2), axes)
    encode_all(codes, axes, keys, size, capacity)


def some_keys(keys: Floats, size: Longs, capacity: int, dims: int) -> Floats:
    """A sample of keys at equal intervals through all tables, [n, dims]."""
    total, ends = int(size.sum()), np.cumsum(size)
    chosen = np.linspace(0, total - 1, min(total, SAMPLE)).astype(np.int64)
    tables = np.searchsorted(ends, chosen, side="right")
    out = np.empty((len(chosen), dims), np.float32)
    for row, (table, entry) in enumerate(zip(tables.tolist(), chosen.tolist(), strict=True)):
        get_key(keys, table, entry - int(ends[table] - size[table]), capacity, out[row])
    return out


def find_axes(keys: Floats, axes: Floats) -> None:
    """Set the axes to the first principal components of these keys, [n, dims]."""
    dims = keys.shape[1]
    mean = keys.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh(np.cov(keys.T, dtype=np.float64))
    step = SPREAD * sqrt(max(float(variances[-1]), 0.0)) / LARGEST
    explains_enough = variances[-AXES:].sum() >= LEAST * variances.sum()
    axes[:] = 0
    if explains_enough and SMALLEST < step < 1 / SMALLEST:
        axes[:dims] = directions[:, : -AXES - 1 : -1] / step
        axes[dims] = -mean @ axes[:dims]
        axes[dims + 1] = step
