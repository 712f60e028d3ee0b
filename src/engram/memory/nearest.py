"""The list of nearest entries found so far: two short arrays, sorted by distance, equal distances by slot."""

import numpy as np

from engram.compiling import compiled
from engram.typing import Floats, Ints, Whole


@compiled
def insert(distances: Floats, slots: Ints, found: int, distance: np.float32, slot: Whole) -> int:
    """Insert an entry if it is among the nearest; return how many are in the list, at most its length."""
    wanted = len(slots)
    if found == wanted:
        last = distances[wanted - 1]
        if distance > last or (distance == last and slot > slots[wanted - 1]):
            return found
    place = min(found, wanted - 1)
    while place > 0 and (
        distances[place - 1] > distance or (distances[place - 1] == distance and slots[place - 1] > slot)
    ):
        distances[place] = distances[place - 1]
        slots[place] = slots[place - 1]
        place -= 1
    distances[place] = distance
    slots[place] = slot
    return min(found + 1, wanted)
