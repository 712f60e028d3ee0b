"""The five answers of a strategy to a state: append, replace, blend, discard, update."""

from typing import NamedTuple

from engram.compiling import compiled
from engram.typing import Whole

APPEND, REPLACE, BLEND, DISCARD, UPDATE = 0, 1, 2, 3, 4
OUTCOMES = ("new", "replaced", "merged", "discarded", "updated")  # of a write, by these numbers


class RefusedError(Exception):
    """Raised in a kernel: a compiled strategy did what cannot be done."""


class Decision(NamedTuple):
    """What is done with a state; made by `append`, `replace`, `blend`, `discard` and `update`."""

    kind: int
    slot: Whole
    weight: float


@compiled
def append() -> Decision:
    """Store the state in the next free slot."""
    return Decision(APPEND, -1, 1.0)


@compiled
def replace(slot: Whole) -> Decision:
    """Remove the entry in this slot and store the state there."""
    return Decision(REPLACE, slot, 1.0)


@compiled
def blend(slot: Whole, weight: float) -> Decision:
    """Move an entry towards the state: c ← c + w (s − c), Q ← Q + w (R − Q)."""
    return Decision(BLEND, slot, 1.0 * weight)


@compiled
def discard() -> Decision:
    """Store nothing."""
    return Decision(DISCARD, -1, 0.0)


@compiled
def update() -> Decision:
    """Update the entry in which this very state is stored, as the memory does while there is room."""
    return Decision(UPDATE, -1, 1.0)


def is_possible(decision: Decision, size: Whole, capacity: int, match: Whole) -> bool:
    """Whether a decision is one of the five, with room to append, a slot in use, a weight from 0 to 1, or a match."""
    if decision.kind == APPEND:
        return bool(size < capacity)
    if decision.kind == DISCARD:
        return True
    if decision.kind == UPDATE:
        return bool(match >= 0)
    if decision.kind not in (REPLACE, BLEND):
        return False
    return bool(0 <= decision.slot < size and 0 <= decision.weight <= 1)


can_be_done = compiled(is_possible)  # in kernels
