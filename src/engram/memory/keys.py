"""The layout of keys in memory: all tables one after the other in one array, without padding.

Narrow keys lie in blocks of `lanes(dims)` entries, and within a block dimension by dimension:

    block 0: x₀ of 64 entries, x₁ of 64 entries, …   block 1: …   last block: as wide as what is left

so that one vector instruction serves neighbouring entries, and no distance needs a sum across lanes.

Wide keys lie one after the other, but cut in two: first the upper 16 bits of every number of every key, rounded, then
the lower ones. The upper half is the number to eight binary digits, so that half the bytes are enough to rule out most
keys; the lower half is added to it to give the number itself. Keys are wide if they have `WIDE` dimensions or more, or
half as many in tables so large that sketches pay.
"""

import numpy as np

from engram.borrowing import seen_as
from engram.compiling import compiled
from engram.typing import Array, Floats, Whole

WIDE = 96  # dimensions
LARGE = 64  # entries for each dimension: beside so large a table, the axes of sketches take little space
BLOCK = 4096  # numbers per block, about: half of what the first-level cache holds
LANES = 64  # entries per block at least
HALF = 16  # bits
MIDDLE = 1 << (HALF - 1)


@compiled
def is_wide(dims: int, capacity: int) -> bool:
    """Whether keys of so many dimensions lie one after the other."""
    return bool(dims >= WIDE or (2 * dims >= WIDE and capacity >= LARGE * dims))


@compiled
def lanes(dims: int) -> int:
    """Entries per block of narrow keys."""
    return max(LANES, BLOCK // max(dims, 1) // LANES * LANES)


@compiled
def join(halves: Array, start: Whole, out: Floats) -> None:
    """Copy one wide key into `out`; the upper halves of its numbers begin at `start`."""
    bits = seen_as(out, np.uint32)
    upper = halves[start : start + len(out)]
    lower = seen_as(halves[len(halves) // 2 + start : len(halves) // 2 + start + len(out)], np.int16)
    for dim in range(len(out)):
        bits[dim] = np.uint32((np.int64(upper[dim]) << HALF) + np.int64(lower[dim]))


@compiled
def cut(key: Floats, halves: Array, start: Whole) -> None:
    """Store the upper and lower halves of one wide key's numbers."""
    bits = seen_as(key, np.uint32)
    upper = halves[start : start + len(key)]
    lower = halves[len(halves) // 2 + start : len(halves) // 2 + start + len(key)]
    for dim in range(len(key)):
        lower[dim] = np.uint16(bits[dim] & np.uint32(0xFFFF))
        upper[dim] = np.uint16((np.int64(bits[dim]) + MIDDLE) >> HALF)


@compiled
def place_in_blocks(table: int, slot: Whole, capacity: int, dims: int) -> tuple[Whole, Whole]:
    """The index at which a narrow key begins, and the distance between its numbers."""
    step = lanes(dims)
    first = slot // step * step
    return (table * capacity + first) * dims + slot - first, min(step, capacity - first)


@compiled
def get_key(keys: Floats, table: int, slot: Whole, capacity: int, out: Floats) -> None:
    """Copy one entry's key."""
    dims = len(out)
    if is_wide(dims, capacity):
        join(seen_as(keys, np.uint16), (table * capacity + slot) * dims, out)
        return
    start, apart = place_in_blocks(table, slot, capacity, dims)
    for dim in range(dims):
        out[dim] = keys[start + dim * apart]


@compiled
def get_keys(keys: Floats, table: int, first: int, capacity: int, out: Floats) -> None:
    """Copy the keys of entries from a first one on, a row each."""
    for i in range(len(out)):
        get_key(keys, table, first + i, capacity, out[i])


@compiled
def put_key(keys: Floats, table: int, slot: Whole, capacity: int, key: Floats) -> None:
    """Store one entry's key."""
    dims = len(key)
    if is_wide(dims, capacity):
        cut(key, seen_as(keys, np.uint16), (table * capacity + slot) * dims)
        return
    start, apart = place_in_blocks(table, slot, capacity, dims)
    for dim in range(dims):
        keys[start + dim * apart] = key[dim]


@compiled
def blend(old: Floats, key: Floats, weight: float) -> None:
    """c ← c + w (s − c); a weight of 1 gives the key as it is."""
    for dim in range(len(old)):
        way = np.float64(key[dim] - old[dim])
        old[dim] = key[dim] if weight == 1 else old[dim] + weight * way
