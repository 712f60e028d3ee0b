"""What a storage strategy is: it sees numbers, never keys or values, and says what becomes of a state."""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from engram.compiling import compiled
from engram.parts import Part
from engram.typing import Doubles, Longs, Whole

APPEND, REPLACE, BLEND = 0, 1, 2

Numbers = Mapping[str, Doubles]


class Decision(NamedTuple):
    """What becomes of a state; made by `append`, `replace` and `blend`."""

    kind: int
    slot: Whole
    weight: float


@compiled
def append() -> Decision:
    """Store the state in the next free slot."""
    return Decision(APPEND, -1, 1.0)


@compiled
def replace(slot: Whole) -> Decision:
    """Forget the entry in this slot and store the state there."""
    return Decision(REPLACE, slot, 1.0)


@compiled
def blend(slot: Whole, weight: float) -> Decision:
    """Merge the state into an entry: c ← c + w (s − c), Q ← Q + w (R − Q)."""
    return Decision(BLEND, slot, weight)


class Write(NamedTuple):
    """One state on its way into a table, as far as a strategy may know it; −1 and NaN where it did not ask."""

    size: int  # entries in the table
    capacity: int  # N
    clock: int  # ticks of the memory: one per query that touches, one per write
    writes: int  # writes that found this table full, this one not counted
    value: float  # R, the return to store
    estimate: float  # Q(s, a) just before the write; for a state met before, its stored value
    nearest: Whole  # slot of the nearest entry
    distance: float  # its d²
    nearest_value: float
    nearest_rank: float  # built-in strategies: the number they keep of it
    lowest: Whole  # built-in strategies: the slot with the lowest rank
    lowest_rank: float


class Strategy(Part):
    """Decides what is kept when a table is full.

    To write your own, derive from this class, say what you need to know, and answer `when_full`. The memory
    itself appends new states while there is room, and updates a state that it has met before in place.
    """

    numbers: ClassVar[tuple[str, ...]] = ()  # what is remembered of each entry, by name, as float64
    needs_nearest: ClassVar[bool] = False  # fill in Write.nearest, .distance and .nearest_value
    needs_estimate: ClassVar[bool] = False  # fill in Write.estimate
    touches: ClassVar[bool] = False  # reading counts as use: `touched` wants to be told
    clusters: ClassVar[bool] = False  # when full, states met before come to `when_full` too

    def decide(self, write: Write, numbers: Numbers) -> Decision:
        """Answer one new state: `append()`, `replace(slot)` or `blend(slot, weight)`."""
        return append() if write.size < write.capacity else self.when_full(write, numbers)

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Answer one state that finds the table full. `numbers` are this table's, one array per name."""
        raise NotImplementedError(f"{self.name} must define when_full(write, numbers)")

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """Note an entry that was just appended, or that replaced another."""

    def renewed(self, slot: int, write: Write, numbers: Numbers) -> None:
        """Note an entry that was just met again or blended into."""

    def touched(self, slots: Longs, clock: int, numbers: Numbers) -> None:
        """Note the entries that a query just read."""


class BuiltIn(Strategy):
    """A strategy whose rules are compiled and that keeps one number per entry, its rank.

    Its file defines three functions beside the class: `stored(write, settings)` and
    `renewed(rank, value, write, settings)` give the rank of an entry that was just stored, or that was met
    again or blended into; `when_full(write, settings)` decides. `rules.py` calls them.
    """

    code: ClassVar[int]  # where rules.py finds the functions
    ordered: ClassVar[bool] = True  # the lowest rank is asked for, so the memory keeps entries in order

    def settings(self) -> tuple[float, float]:
        """The two numbers that the compiled functions get of the options."""
        return 0.0, 0.0

    def named(self, ranks: Doubles, writes: int, capacity: int) -> dict[str, Doubles]:
        """The ranks under the name and in the unit of the paper."""
        raise NotImplementedError
