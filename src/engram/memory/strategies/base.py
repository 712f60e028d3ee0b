"""What a storage strategy is told about each state, what it may answer, and the class to derive one's own from."""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from engram.errors import InvalidInputError
from engram.memory.strategies.decisions import Decision, append
from engram.parts import Part
from engram.typing import Doubles, Floats, Longs, Whole

Numbers = Mapping[str, Doubles]  # a table's numbers by name: [entries] for `numbers`, [1] for `table_numbers`
Need = bool | str  # True, False, or "full": only in a full table
MAKERS = {
    "numbers",
    "stored",
    "met_again",
    "blended",
    "touched",
    "adjusted",
}  # of what numbers can be


class Neighbourhood(NamedTuple):
    """The entries nearest to a state, nearest first: `neighbours` of the memory, or as many as there are."""

    slots: Longs
    distances: Floats  # d²
    values: Floats


class Write(NamedTuple):
    """One state that is written to a table. What is not known is −1 (slots), NaN (numbers) or None (neighbours)."""

    size: int  # entries in the table
    capacity: int  # N
    clock: int  # ticks of the memory: one per query that touches, one per write
    writes: int  # writes that found this table full, this one not counted
    averaged: int  # entries that a read averages over: k, or N if that is less
    exact: bool  # whether a read of a stored key gives its value alone
    value: float  # R, the return to store
    episode_return: float  # undiscounted return of the whole episode
    match: Whole  # slot of the entry in which this very state is stored
    estimate: float  # Q(s, a) just before the write; the stored value if the state is updated in place
    nearest: Whole  # slot of the nearest entry
    distance: float  # its d²
    nearest_value: float
    neighbours: Neighbourhood
    lowest: Whole  # slot of the entry with the lowest number `order`
    entry_value: float  # after the write: the value that the entry has now


class Touch(NamedTuple):
    """The entries of one table that a query has read, nearest first."""

    slots: Any  # [found], whole numbers
    distances: Floats  # [found], d²: 0 is an exact hit
    clock: int


class Kept(NamedTuple):
    """What else is known of a table whose numbers are checked."""

    values: Floats  # [entries]
    writes: int  # that found the table full
    capacity: int  # N
    clock: int


class Strategy(Part):
    """Decides which states are kept. The memory asks it and tells it; it never sees keys.

    Derive from this class for a strategy in plain Python, or from `CompiledStrategy` for one whose methods are
    compiled. The memory itself appends new states while there is room, and updates a state that it holds in place.
    """

    numbers: ClassVar[tuple[str, ...]] = ()  # float64 numbers to keep for each entry
    table_numbers: ClassVar[tuple[str, ...]] = ()  # float64 numbers to keep for each table
    order: ClassVar[str] = ""  # the one of `numbers` by which `write.lowest` is found
    needs_nearest: ClassVar[Need] = False  # fill in `write.nearest`, `.distance` and `.nearest_value`
    needs_neighbours: ClassVar[Need] = False  # fill in `write.neighbours`
    needs_estimate: ClassVar[Need] = False  # fill in `write.estimate`
    needs_episode_return: ClassVar[bool] = False  # refuse writes without `episode_return`
    touches: ClassVar[bool] = False  # call `touched` after reads that touch; True where a class defines it
    clusters: ClassVar[bool] = False  # when full, states that the table holds are decided on like new ones

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "touched" in vars(cls) and "touches" not in vars(cls):
            cls.touches = True
        if "check" not in vars(cls) and not MAKERS.isdisjoint(vars(cls)):
            cls.check = Strategy.check  # type: ignore[method-assign]
        for name in ("needs_nearest", "needs_neighbours", "needs_estimate"):
            if getattr(cls, name) not in (False, True, "full"):
                raise InvalidInputError(
                    f'{cls.__name__}.{name} must be True, False or "full", got {getattr(cls, name)!r}'
                )
        if cls.order and cls.order not in cls.numbers:
            raise InvalidInputError(f"{cls.__name__}.order must be one of its numbers {cls.numbers}, got {cls.order!r}")

    @classmethod
    def column_names(cls) -> tuple[str, ...]:
        """The numbers of the entries that lie in columns of their own."""
        return cls.numbers

    def decide(self, write: Write, numbers: Numbers) -> Decision:
        """Answer one new state: `append()`, `replace(slot)`, `blend(slot, weight)` or `discard()`."""
        return append() if write.size < write.capacity else self.when_full(write, numbers)

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Answer one state that finds the table full."""
        raise NotImplementedError(f"{self.name} must define when_full(write, numbers)")

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        """Note an entry that was just appended or that replaced another. Its numbers are 0."""

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        """Note an entry that was just updated in place because its state was written again."""

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        """Note an entry into which a state was just blended."""

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        """Note the entries that a query has just read."""

    def adjusted(self, slot: int, value: float, numbers: Numbers) -> None:
        """Note an entry to which an optimiser has just given a new value."""

    def check(self, numbers: Numbers, kept: "Kept") -> str:
        """What is wrong with a table's numbers, which are finite; nothing if the rules can have come to them.

        A class that has other rules, or other numbers, does not inherit it.
        """
        return ""

    def show(self, numbers: Numbers, writes: int, capacity: int) -> dict[str, Doubles]:
        """The numbers of a table's entries as `memory.entries` shows them; `writes` found the table full."""
        return {name: numbers[name] for name in self.numbers}
