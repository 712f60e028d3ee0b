"""The tables in the computer's own memory, with everything that is done to them."""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.batch import write_episode
from engram.memory.keys import get_keys
from engram.memory.read import Reading, find_neighbours, look_up, read, read_and_touch, touch_slots
from engram.memory.sketch import FEWEST, Sketch, find_sketch
from engram.memory.strategies import BuiltIn, Decision, MaximiseRewards, Strategy
from engram.memory.strategies.base import APPEND, BLEND, REPLACE, Write
from engram.memory.strategies.rules import rules_of
from engram.memory.tables import Tables, adjust, fill, merge, new_tables, store, update
from engram.memory.write import look, write_built_in
from engram.typing import Array, Doubles, Floats, Ints, Longs, States


class Neighbours(NamedTuple):
    """The nearest entries of each query of a batch, nearest first; beyond `found` there is nothing."""

    slots: Ints  # [B, k]
    found: Longs  # [B]
    keys: Any  # [B, k, key_size]
    values: Any  # [B, k]


class Store:
    """All tables of a memory. What comes in has been checked."""

    def __init__(
        self,
        *,
        actions: int,
        key_size: int,
        capacity: int,
        companions: int,
        strategy: Strategy,
        step: float,
        by_episode: bool,
        reading: Reading,
    ) -> None:
        self.key_size, self.capacity = key_size, capacity
        self.strategy, self.step, self.reading = strategy, step, reading
        self.tables = self.new_tables(actions, companions)
        names = () if isinstance(strategy, BuiltIn) else strategy.numbers
        self.numbers: dict[str, Doubles] = {name: np.zeros((actions, capacity)) for name in names}
        self.rules = rules_of(strategy) if isinstance(strategy, BuiltIn) else None
        self.write_states = write_episode if by_episode else write_built_in
        self.touches = strategy.touches and self.rules is not None
        self.ranked_by_value = isinstance(strategy, MaximiseRewards)
        self.sketch = sketch_of(self.tables)
        self.sketched_at = 0  # entries written when the axes of the sketch were found

    def new_tables(self, actions: int, companions: int) -> Tables:
        """Empty tables of this store's kind."""
        return new_tables(actions, self.capacity, self.key_size, companions)

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is kept."""
        arrays: list[Array] = [*self.tables, *self.numbers.values()]
        return sum(array.nbytes for array in arrays)

    def as_keys(self, keys: Any) -> Any:
        """Keys in the form that the other methods take."""
        return as_floats(keys)

    def keys(self, action: int) -> Floats:
        """A copy of one table's keys, [size, key_size]."""
        keys = np.empty((int(self.tables.size[action]), self.key_size), np.float32)
        get_keys(self.tables.keys, action, self.capacity, keys)
        return keys

    def read(self, queries: Any, *, touch: bool) -> Any | None:
        """Q of every query in every table, [B, actions]; None if a query is not finite."""
        tables = self.tables
        values = np.empty((len(queries), len(tables.size)), np.float32)
        if touch and self.touches:
            finite = read_and_touch(
                tables.keys,
                self.sketch,
                tables.values,
                tables.size,
                tables.ranks,
                tables.heap,
                tables.place,
                tables.clock,
                queries,
                *self.reading,
                values,
            )
        else:
            finite = read(
                tables.keys,
                self.sketch,
                tables.values,
                tables.size,
                queries,
                *self.reading,
                values,
            )
        if not finite:
            return None
        if touch and self.strategy.touches and not self.touches:
            self.touch_one_by_one(queries)
        return values

    def find_neighbours(self, action: int, queries: Any, wanted: int) -> tuple[Ints, Floats]:
        """Slots and squared distances of the nearest entries of one table, each [B, wanted]."""
        distances = np.empty((len(queries), wanted), np.float32)
        slots = np.empty((len(queries), wanted), np.int32)
        size = int(self.tables.size[action])
        find_neighbours(
            self.tables.keys,
            self.sketch,
            action,
            size,
            self.capacity,
            queries,
            distances,
            slots,
        )
        return slots, distances

    def look_up(self, actions: Longs, queries: Any, *, touch: bool) -> Neighbours:
        """The neighbours of each query in the table of its own action."""
        tables, wanted = self.tables, self.reading.neighbours
        near = Neighbours(
            np.zeros((len(queries), wanted), np.int32),
            np.zeros(len(queries), np.int64),
            np.zeros((len(queries), wanted, self.key_size), np.float32),
            np.zeros((len(queries), wanted), np.float32),
        )
        look_up(tables.keys, self.sketch, tables.values, tables.size, actions, queries, *near)
        if touch and self.touches:
            self.touch_slots(actions, near.slots, near.found, rows=1)
        elif touch and self.strategy.touches:
            for action, slots, found in zip(actions.tolist(), near.slots, near.found, strict=True):
                tables.clock[0] += 1
                used = slots[:found].astype(np.int64)
                self.strategy.touched(used, int(tables.clock[0]), self.numbers_of(action))
        return near

    def touch_slots(self, actions: Longs, slots: Ints, found: Longs, *, rows: int) -> None:
        """Note what was looked up as used: rows of slots, `rows` for each query."""
        tables = self.tables
        touch_slots(tables.ranks, tables.heap, tables.place, tables.size, tables.clock, actions, slots, found, rows)

    def touch_one_by_one(self, queries: Any) -> None:
        """Tell a strategy in plain Python which entries were read."""
        tables = self.tables
        for query in queries:
            tables.clock[0] += 1
            for action, size in enumerate(tables.size.tolist()):
                wanted = min(self.reading.neighbours, size)
                slots = self.find_neighbours(action, query[None], wanted)[0][0] if wanted else np.zeros(0, np.int32)
                self.strategy.touched(slots.astype(np.int64), int(tables.clock[0]), self.numbers_of(action))

    def write(self, action: int, keys: Any, values: Floats, states: States) -> None:
        """Write states in order of time, one at a time; where merging is by episode, those that find no room as one."""
        if self.rules is not None:
            self.write_states(self.tables, action, keys, values, states, self.rules, self.step, self.reading)
        else:
            for key, value, state in zip(keys, values, states, strict=True):
                self.write_one(action, key, float(value), state)
        self.keep_sketch()

    def keep_sketch(self) -> None:
        """Find the axes of the sketch when there are enough entries, and again when twice as much was written."""
        tables = self.tables
        written = int(tables.size.sum() + tables.writes.sum())
        if len(tables.codes) and written >= max(FEWEST, 2 * self.sketched_at):
            find_sketch(tables.codes, tables.axes, tables.keys, tables.size, self.capacity)
            self.sketched_at = written

    def write_one(self, action: int, key: Floats, value: float, state: np.uint64) -> None:
        """Write one state as a strategy in plain Python decides."""
        tables, strategy = self.tables, self.strategy
        tables.clock[0] += 1
        full = bool(tables.size[action] == self.capacity)
        match = int(hash_index.find(tables.buckets[action], tables.states[action], state))
        if full and strategy.clusters:
            match = hash_index.EMPTY
        needs = (strategy.needs_nearest, strategy.needs_estimate)
        write = look(tables, action, key, value, match, *needs, False, self.reading)
        if match >= 0:
            update(tables, action, match, key, value, self.step)
            strategy.renewed(match, write, self.numbers_of(action))
        else:
            self.carry_out(action, key, value, state, write)
        if full:
            tables.writes[action] += 1

    def carry_out(self, action: int, key: Floats, value: float, state: np.uint64, write: Write) -> None:
        """Ask a strategy in plain Python what becomes of a state, and do it."""
        kind, place, weight = self.checked(self.strategy.decide(write, self.numbers_of(action)), write.size)
        slot = write.size if kind == APPEND else int(place)
        if kind == BLEND:
            merge(self.tables, action, slot, key, value, weight)
            self.strategy.renewed(slot, write, self.numbers_of(action))
        else:
            store(self.tables, action, slot, key, value, state)
            numbers = self.numbers_of(action)
            for column in numbers.values():
                column[slot] = 0
            self.strategy.stored(slot, write, numbers)

    def numbers_of(self, action: int) -> dict[str, Doubles]:
        """The named numbers of one table's entries, to be written to."""
        size = self.tables.size[action]
        return {name: array[action, :size] for name, array in self.numbers.items()}

    def checked(self, decision: Any, size: int) -> Decision:
        """What a strategy in plain Python answered, if it can be carried out."""
        if isinstance(decision, Decision):
            kind, slot, weight = decision
            if kind == APPEND and size < self.capacity:
                return decision
            inside = isinstance(slot, int | np.integer) and 0 <= slot < size
            if kind in (REPLACE, BLEND) and inside and isfinite(weight) and 0 <= weight <= 1:
                return decision
        raise InvalidInputError(
            f"{self.strategy.name}.decide must answer append() while there is room, replace(slot) or "
            f"blend(slot, weight) with a slot from 0 to {size - 1} and a weight from 0 to 1, got {decision!r}"
        )

    def adjust(self, actions: Longs, slots: Longs, keys: Floats, values: Floats) -> None:
        """Give entries new keys and values."""
        adjust(self.tables, actions, slots, keys, values, self.ranked_by_value)

    def fill(self, tables: Tables, action: int, keys: Floats) -> None:
        """Lay out one table's keys in fresh tables, and index and order its entries."""
        fill(tables, action, keys, self.rules is not None and self.rules.ordered)

    def take(self, tables: Tables, numbers: dict[str, Doubles]) -> None:
        """Put fresh tables in the place of those there were."""
        self.tables, self.numbers = tables, numbers
        self.sketch, self.sketched_at = sketch_of(tables), 0
        self.keep_sketch()


def sketch_of(tables: Tables) -> Sketch:
    """The sketch of the tables' keys, if they have one."""
    return (tables.codes, tables.axes) if len(tables.codes) else None


def as_floats(numbers: Any) -> Floats:
    """Any numbers, torch's too, as an array of float32 that a kernel can take as it is."""
    if hasattr(numbers, "detach"):
        numbers = numbers.detach().float().cpu().numpy()
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused as such
        floats = np.ascontiguousarray(numbers, np.float32)
    return floats if floats.flags.carray else floats.copy()
