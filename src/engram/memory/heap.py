"""Which entry has the lowest rank? One binary heap of slots per table, so that the answer is always at the top.

Lower rank first, equal ranks by the lower slot. `place[slot]` is where a slot stands in the heap.
"""

from engram.compiling import compiled
from engram.typing import Doubles, Ints, Whole


@compiled
def goes_before(ranks: Doubles, slot: Whole, other: Whole) -> bool:
    """Whether the slot would be given up before the other one."""
    return bool(ranks[slot] < ranks[other] or (ranks[slot] == ranks[other] and slot < other))


@compiled
def sift(heap: Ints, place: Ints, ranks: Doubles, size: Whole, slot: Whole) -> None:
    """Move a slot whose rank has changed, or that was just put at the end, to where it belongs."""
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
