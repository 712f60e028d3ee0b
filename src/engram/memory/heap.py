"""A binary heap of slots per table, from which the slot of the lowest rank is taken, of equal ranks the lower slot.

`place[slot]` is the position of a slot in the heap. Ranks mostly grow: an entry that is used comes later. The heap
hears of that only when the entry comes to the top, so that growing costs nothing. Until then it orders the slot by the
rank `known[slot]`, which is never above its rank. So when the top is known rightly, no slot has a lower rank.
"""

from engram.compiling import compiled
from engram.typing import Doubles, Ints, Whole


@compiled
def goes_before(known: Doubles, slot: Whole, other: Whole) -> bool:
    """Whether a slot comes before another in the order of the heap."""
    return bool(known[slot] < known[other] or (known[slot] == known[other] and slot < other))


@compiled
def sift(heap: Ints, place: Ints, known: Doubles, size: Whole, slot: Whole) -> None:
    """Move a slot whose known rank has changed, or that was just added at the end, to its position."""
    here = place[slot]
    while here > 0:
        parent = (here - 1) // 2
        if not goes_before(known, slot, heap[parent]):
            break
        heap[here] = heap[parent]
        place[heap[here]] = here
        here = parent
    while True:
        child = 2 * here + 1
        if child >= size:
            break
        if child + 1 < size and goes_before(known, heap[child + 1], heap[child]):
            child += 1
        if not goes_before(known, heap[child], slot):
            break
        heap[here] = heap[child]
        place[heap[here]] = here
        here = child
    heap[here] = slot
    place[slot] = here


@compiled
def hear(heap: Ints, place: Ints, known: Doubles, size: Whole, slot: Whole, rank: float) -> None:
    """Let the heap know of an entry's rank at once if it has fallen; otherwise later."""
    if rank < known[slot]:
        known[slot] = rank
        sift(heap, place, known, size, slot)


@compiled
def lowest_of(heap: Ints, place: Ints, known: Doubles, ranks: Doubles, size: Whole) -> Whole:
    """The slot of the lowest rank in a heap that is not empty."""
    top: Whole = heap[0]
    while known[top] < ranks[top]:
        known[top] = ranks[top]
        sift(heap, place, known, size, top)
        top = heap[0]
    return top
