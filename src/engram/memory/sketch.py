"""Sketches of wide keys: 80 bytes and two norms per key that are enough to skip nearly all keys that are far away.

Each byte is the coordinate of the key along one axis, in steps. The axes are orthogonal, so the distance between two
sketches is at most that between the keys, apart from rounding. The first 16 axes are coarse: they are looked at for
every entry. The other 64, along which keys differ less, have smaller steps, and are looked at where the coarse ones do
not rule an entry out. The axes span the first principal components of the stored keys, found when there are enough
entries and again whenever twice as much has been written. Along the components themselves keys would differ much in
some and little in others; the axes are turned among them so that keys differ about as much along each, and smaller
steps do. Axes change how long a search takes, never what it finds.

Squared distances between sketches are whole numbers, |x|² + |q|² − 2 x · q, with products of bytes that processors
compute four at a time. For that, sixteen entries lie together with their coarse codes, and of them four axes at a time;
fine codes, which few entries need, lie together for each entry.
"""

from math import sqrt

import numpy as np

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.memory.keys import LARGE, get_key, is_wide
from engram.memory.lanes import WIDTH
from engram.typing import Array, Floats, Ints, Longs, Whole

COARSE, FINE = 16, 64  # axes
AXES = COARSE + FINE
QUAD = 4  # axes that lie together
Sketch = tuple[Array, Ints, Floats] | tuple[()]  # codes, norms and axes, empty in small tables; () for narrow keys
SKETCH = ("codes", "norms", "axes")
MIDDLE = 128  # is added to the codes of entries, so that they are not negative
LARGEST = 127.0  # coordinates are clipped to this, which brings no two keys further apart
SPREAD = 3.0  # standard deviations along the axes of each kind that the codes span
FINEST = 1 / 64  # smallest step of the fine axes, in steps of the coarse ones: below, sums of float64 would not do
FEWEST = 1024  # entries before axes are found
LEAST = 2.8  # of the variance, the coarse axes must explain this many times their share for a sketch to save time
MOST = 0.9  # share of the variance that is always enough
SMALLEST = 1e-30  # smallest step, and smallest inverse of a step, that float32 can hold
UNDERFLOW = 1e-20  # distance whose square underflows in float32
SAMPLE = 2048  # entries from which axes are computed
ROOM = AXES // QUAD + 7  # numbers of an encoded query


def is_sketched(capacity: int, dims: int) -> bool:
    """Whether keys are wide, and tables large enough for the axes to take little space beside them."""
    return is_wide(dims, capacity) and capacity >= LARGE * dims


def sketch_shapes(actions: int, capacity: int, dims: int) -> tuple[tuple[int], tuple[int], tuple[int, int]]:
    """Of codes, norms and axes, if keys are sketched.

    The axes are [dims + 3, axes]: directions divided by the step, then offsets, then the steps, then the largest
    rounding errors of coarse and of fine codes so far. All are 0 until axes are found.
    """
    if not is_sketched(capacity, dims):
        return (0,), (0,), (0, AXES)
    entries = actions * padded(capacity)
    return (entries * AXES,), (entries * 2,), (dims + 3, AXES)


@compiled
def padded(capacity: int) -> int:
    """Entries of a table for whose sketches there is room: whole sixteens."""
    return (capacity + WIDTH - 1) // WIDTH * WIDTH


@compiled
def has_axes(axes: Floats) -> bool:
    """Whether keys are sketched and axes have been found."""
    return bool(len(axes) > 0 and axes[len(axes) - 2, 0] > 0)


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
def encode(codes: Array, norms: Ints, axes: Floats, table: int, slot: Whole, capacity: int, key: Floats) -> None:
    """Store the sketch of an entry's key."""
    placed = np.empty(AXES, np.float32)
    place(axes, key, placed)
    room = padded(capacity)
    coarse = table * room * AXES + slot // WIDTH * WIDTH * COARSE + slot % WIDTH * QUAD
    fine = table * room * AXES + room * COARSE + slot * FINE
    for kind in range(2):
        first, last = (0, COARSE) if kind == 0 else (COARSE, AXES)
        norm, error = 0, 0.0
        for axis in range(first, last):
            code = int(np.rint(placed[axis]))
            norm += code * code
            error += (np.float64(placed[axis]) - code) ** 2
            at = coarse + axis // QUAD * QUAD * WIDTH + axis % QUAD if kind == 0 else fine + axis - COARSE
            codes[at] = np.uint8(code + MIDDLE)
        norms[(2 * table + kind) * room + slot] = norm
        largest = axes[len(axes) - 1]
        largest[first] = max(largest[first], np.float32(sqrt(error) * (1 + 1e-6)))


@compiled
def put_sketch(sketch: Sketch, table: int, slot: Whole, capacity: int, key: Floats) -> None:
    """Store the sketch of an entry's key, where keys are sketched."""
    if len(sketch) != 0:
        codes, norms, axes = sketch
        if len(codes) > 0:
            encode(codes, norms, axes, table, slot, capacity, key)


@compiled
def encode_all(codes: Array, norms: Ints, axes: Floats, keys: Floats, size: Longs, capacity: int) -> None:
    """Compute the sketches of all entries."""
    codes, norms, axes, keys = borrowed(codes), borrowed(norms), borrowed(axes), borrowed(keys)
    key = np.empty(len(axes) - 3, np.float32)
    for table in range(len(size)):
        for slot in range(size[table]):
            get_key(keys, table, slot, capacity, key)
            encode(codes, norms, axes, table, slot, capacity, key)


@compiled
def encode_query(axes: Floats, query: Floats, quads: Ints, about: Floats) -> None:
    """The codes of a query, four to a word, and what distances need besides.

    `about` gets, of the coarse and of the fine axes: |q|² + 2 · 128 Σ q, the largest rounding error of a distance in
    steps, and the step.
    """
    placed = np.empty(AXES, np.float32)
    place(axes, query, placed)
    for kind in range(2):
        first, last = (0, COARSE) if kind == 0 else (COARSE, AXES)
        constant, error = 0, 0.0
        for axis in range(first, last):
            code = int(np.rint(placed[axis]))
            constant += code * code + 2 * MIDDLE * code
            error += (np.float64(placed[axis]) - code) ** 2
            byte = np.int32(code & 0xFF) << np.int32(8 * (axis % QUAD))
            quads[axis // QUAD] = byte if axis % QUAD == 0 else quads[axis // QUAD] | byte
        about[3 * kind] = constant
        about[3 * kind + 1] = np.float64(axes[len(axes) - 1, first]) + sqrt(error) * (1 + 1e-6)
        about[3 * kind + 2] = axes[len(axes) - 2, first]


def find_sketch(codes: Array, norms: Ints, axes: Floats, keys: Floats, size: Longs, capacity: int) -> None:
    """Find the axes from the keys of all tables, and compute all sketches."""
    find_axes(some_keys(keys, size, capacity, len(axes) - 3), axes)
    encode_all(codes, norms, axes, keys, size, capacity)


def some_keys(keys: Floats, size: Longs, capacity: int, dims: int) -> Floats:
    """A sample of keys at equal intervals through all tables, [n, dims]."""
    total, ends = int(size.sum()), np.cumsum(size)
    chosen = np.linspace(0, total - 1, min(total, SAMPLE)).astype(np.int64)
    tables = np.searchsorted(ends, chosen, side="right")
    out = np.empty((len(chosen), dims), np.float32)
    for row, (table, entry) in enumerate(zip(tables.tolist(), chosen.tolist(), strict=True)):
        get_key(keys, table, entry - int(ends[table] - size[table]), capacity, out[row])
    return out


def turned(directions: Array, variances: Array) -> tuple[Array, float]:
    """Axes that span the same space, along which keys differ about as much, and the largest deviation along one."""
    count = directions.shape[1]
    angles = np.pi / count * (np.arange(count) + 0.5)[:, None] * np.arange(count)
    cosines = np.cos(angles) * np.where(np.arange(count) > 0, sqrt(2 / count), sqrt(1 / count))  # orthogonal
    return directions @ cosines.T, sqrt(float(((cosines**2) @ np.maximum(variances, 0.0)).max()))


def find_axes(keys: Floats, axes: Floats) -> None:
    """Set the axes from the first principal components of these keys, [n, dims]."""
    dims = keys.shape[1]
    mean = keys.mean(axis=0, dtype=np.float64)
    variances, directions = np.linalg.eigh(np.cov(keys.T, dtype=np.float64))
    variances, directions = variances[::-1], directions[:, ::-1]
    coarse, coarse_spread = turned(directions[:, :COARSE], variances[:COARSE])
    fine, fine_spread = turned(directions[:, COARSE:AXES], variances[COARSE:AXES])
    step, finer = SPREAD * coarse_spread / LARGEST, SPREAD * fine_spread / LARGEST
    explains_enough = variances[:COARSE].sum() >= min(LEAST * COARSE / dims, MOST) * variances.sum()
    axes[:] = 0
    if explains_enough and step * FINEST > SMALLEST and step < 1 / SMALLEST:
        steps = np.repeat([step, max(finer, step * FINEST)], [COARSE, FINE])
        axes[:dims, : min(dims, AXES)] = np.hstack([coarse, fine])
        axes[:dims] /= steps
        axes[dims] = -mean @ axes[:dims]
        axes[dims + 1] = steps
