"""The four answers of a strategy to a state: append, replace, blend, discard."""

from typing import NamedTuple

from engram.compiling import compiled
from engram.typing import Whole

APPEND, REPLACE, BLEND, DISCARD = 0, 1, 2, 3
UPDATE = 4  # no decision: the table holds this very state, which is updated in place
OUTCOMES = ("new", "replaced", "merged", "discarded", "updated")  # of a write, by these numbers


class RefusedError(Exception):
    """Raised in a kernel: a compiled strategy did what cannot be done."""


class Decision(NamedTuple):
    """What is done with a state; made by `append`, `replace`, `blend` and `discard`."""

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


def is_possible(decision: Decision, size: Whole, capacity: int) -> bool:
    """Whether a decision is one of the four, with a slot in use, a weight from 0 to 1, and room to append."""
    if decision.kind == APPEND:
        return bool(size < capacity)
    if decision.kind == DISCARD:
        return True
    if decision.kind not in (REPLACE, BLEND):
        return False
    return bool(0 <= decision.slot < size and 0 <= decision.weight <= 1)


can_be_done = compiled(is_possible)  # in kernels
