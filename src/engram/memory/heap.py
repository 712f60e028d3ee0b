"""A binary heap of slots per table, the lowest rank at the top, equal ranks by the lower slot.

`place[slot]` is the position of a slot in the heap.
"""

from engram.compiling import compiled
from engram.typing import Doubles, Ints, Whole


@compiled
def goes_before(ranks: Doubles, slot: Whole, other: Whole) -> bool:
    """Whether a slot comes before another in the order of the heap."""
    return bool(ranks[slot] < ranks[other] or (ranks[slot] == ranks[other] and slot < other))


@compiled
def sift(heap: Ints, place: Ints, ranks: Doubles, size: Whole, slot: Whole) -> None:
    """Move a slot whose rank has changed, or that was just added at the end, to its position."""
    here = place[slot]
    while here > 0:
        parent = (here - 1) // 2
        if not goes_before(ranks, slot, heap[parent]):
            break
        heap[here] = heap[parent]
        place[heap[here]] = here
        here = parent
    while True:
        child = 2 * here + 1
        if child >= size:
            break
        if child + 1 < size and goes_before(ranks, heap[child + 1], heap[child]):
            child += 1
        if not goes_before(ranks, heap[child], slot):
            break
        heap[here] = heap[child]
        place[heap[here]] = here
        here = child
    heap[here] = slot
    place[slot] = here
