"""The tables in main memory: searching, reading, writing and adjusting their entries."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.memory import plain
from engram.memory.arguments import all_finite, as_floats
from engram.memory.batch import write_episode
from engram.memory.keys import get_keys
from engram.memory.read import Reading, find_neighbours, look_up, read, read_stored
from engram.memory.sketch import FEWEST, find_sketch
from engram.memory.strategies import CompiledStrategy, Strategy
from engram.memory.strategy_types import Kernel
from engram.memory.tables import Renewal, Tables, adjust, bytes_of, fill, new_tables
from engram.memory.touch import note_adjusted, read_and_touch, touch_slots
from engram.memory.write import write_states
from engram.typing import Doubles, Floats, Ints, Longs, States


class Neighbours(NamedTuple):
    """The nearest entries of each query of a batch, nearest first; beyond `found` there is nothing."""

    slots: Ints  # [B, k]
    found: Longs  # [B]
    keys: Any  # [B, k, key_size]
    values: Any  # [B, k]
    distances: Floats  # [B, k], squared


class Store:
    """All tables of a memory. Its arguments have been checked."""

    in_main_memory = True  # where keys are

    def __init__(
        self,
        *,
        actions: int,
        key_size: int,
        capacity: int,
        companions: int,
        strategy: Strategy,
        renewal: Renewal,
        by_episode: bool,
        reading: Reading,
    ) -> None:
        self.key_size, self.capacity = key_size, capacity
        self.strategy, self.renewal, self.reading = strategy, renewal, reading
        self.compiled = strategy if isinstance(strategy, CompiledStrategy) else None
        self.tables = self.new_tables(actions, companions)
        self.write_states = Kernel(write_episode if by_episode else write_states)
        self.plain_read, self.read_and_touch = Kernel(read), Kernel(read_and_touch)
        self.touch_slots, self.note_adjusted = Kernel(touch_slots), Kernel(note_adjusted)
        only_order = self.compiled is not None and (*strategy.numbers, *strategy.table_numbers) == (strategy.order,)
        self.watched = not (strategy.is_built_in or only_order)  # the number that orders is checked when it is set
        self.sketched_at = 0  # entries written when the axes of the sketch were found

    def new_tables(self, actions: int, companions: int) -> Tables:
        """Empty tables of this store's kind."""
        return self.tables_for_keys(actions, companions, self.key_size)

    def tables_for_keys(self, actions: int, companions: int, key_size: int) -> Tables:
        """Empty tables with keys of this size and the numbers of the strategy."""
        own = len(self.strategy.table_numbers)
        numbers = {"companions": companions, "columns": self.count_columns(), "table_numbers": own}
        self.check_room(bytes_of(actions, self.capacity, key_size, **numbers), actions)
        return new_tables(actions, self.capacity, key_size, **numbers)

    def count_columns(self) -> int:
        """Numbers per entry that lie in columns."""
        return len(self.strategy.column_names())

    def check_room(self, needed: int, actions: int, free: int | None = None) -> None:
        """Raise InvalidInputError unless full tables, which need so many bytes, have room in memory."""
        checks.room(
            needed,
            f"a memory for {actions:,} actions with capacity {self.capacity:,} and keys of size {self.key_size:,} "
            "(that of an observation, unless an encoder makes smaller ones), once it is full,",
            lambda there: f"choose a capacity of up to {self.capacity * there // needed:,}, or smaller keys",
            free,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays: list[Any] = [*self.tables, *self.tables.sketch]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def as_keys(self, keys: Any) -> Any:
        """Keys in the form that the other methods take."""
        return as_floats("keys", keys)

    def keys(self, action: int, first: int = 0, end: int | None = None) -> Floats:
        """A copy of one table's keys, [size, key_size], or of those from one slot to another."""
        end = int(self.tables.size[action]) if end is None else end
        keys = np.empty((end - first, self.key_size), np.float32)
        get_keys(self.tables.keys, action, first, self.capacity, keys)
        return keys

    def numbers_of(self, action: int) -> dict[str, Doubles]:
        """One table's numbers by name, to be written to."""
        return plain.named_numbers(self.strategy, self.tables, action)

    def read(self, queries: Any, *, touch: bool) -> Any | None:
        """Q of every query in every table, [B, actions]; None if a query cannot be searched."""
        tables = self.tables
        values = np.empty((len(queries), len(tables.size)), np.float32)
        if touch and self.strategy.touches and self.compiled is not None:
            try:
                usable = self.read_and_touch(
                    self.compiled,
                    tables.keys,
                    tables.sketch,
                    tables.values,
                    tables.ranks,
                    tables.heap,
                    tables.known,
                    tables.place,
                    tables.columns,
                    tables.own,
                    tables.size,
                    tables.clock,
                    queries,
                    *self.reading,
                    values,
                )
            finally:
                if self.watched:
                    self.check_numbers()
            return values if usable else None
        kernel = self.plain_read.entry or self.plain_read  # without a strategy nothing is refused
        usable = kernel(tables.keys, tables.sketch, tables.values, tables.size, queries, *self.reading, values)
        if usable and touch and self.strategy.touches:
            self.touch_all(queries)
        return values if usable else None

    def read_stored(self, states: States) -> Floats:
        """The value that each table has stored of each of these states, [T, actions]; NaN where it has none."""
        tables, values = self.tables, np.empty((len(states), len(self.tables.size)), np.float32)
        read_stored(tables.buckets, tables.states, tables.values, states, values)
        return values

    def check_numbers(self) -> None:
        """Raise InvalidInputError if rules have made a number NaN or infinite; it is set to 0."""
        wrong = [name for action in range(len(self.tables.size)) for name in self.repair(action)]
        if wrong:
            raise InvalidInputError(
                f"{self.strategy.name} made {wrong[0]} NaN or infinite; where it was, it is 0 now; check its rules"
            )

    def repair(self, action: int) -> Iterator[str]:
        """Set numbers of a table that are not finite to 0; yield their names."""
        for name, column in self.numbers_of(action).items():
            if not all_finite(column):
                column[~np.isfinite(column)] = 0
                yield name

    def touch_all(self, queries: Any) -> None:
        """Tell a strategy in plain Python which entries of all tables each query reads."""
        sizes, wanted = self.tables.size, self.reading.neighbours
        slots = np.zeros((len(queries), len(sizes), wanted), np.int32)
        distances = np.zeros(slots.shape, np.float32)
        for action, size in enumerate(sizes.tolist()):
            near = self.find_neighbours(action, queries, min(wanted, size))
            slots[:, action, : min(wanted, size)], distances[:, action, : min(wanted, size)] = near
        actions = np.tile(np.arange(len(sizes)), len(queries))
        rows = slots.reshape(-1, wanted), distances.reshape(-1, wanted)
        self.touch(actions, *rows, np.minimum(sizes, wanted)[actions], rows=len(sizes))

    def find_neighbours(self, action: int, queries: Any, wanted: int) -> tuple[Ints, Floats]:
        """Slots and squared distances of the nearest entries of one table, each [B, wanted]."""
        self.check_room_for(len(queries), wanted * 4)
        distances = np.empty((len(queries), wanted), np.float32)
        slots = np.empty((len(queries), wanted), np.int32)
        size = int(self.tables.size[action])
        if wanted:
            find_neighbours(
                self.tables.keys, self.tables.sketch, action, size, self.capacity, queries, distances, slots
            )
        return slots, distances

    def check_room_for(self, queries: int, numbers: int) -> None:
        """Raise InvalidInputError unless there is room for the neighbours of a batch, so many numbers per query."""
        checks.room(
            4 * queries * numbers,
            f"what is found for {queries:,} keys of size {self.key_size:,} with {self.reading.neighbours:,} neighbours",
            lambda _: "hand over fewer keys at a time, or choose fewer neighbours",
        )

    def look_up(self, actions: Longs, queries: Any, *, touch: bool) -> Neighbours:
        """The neighbours of each query in the table of its own action."""
        tables, wanted = self.tables, self.reading.neighbours
        self.check_room_for(len(queries), wanted * (self.key_size + 4))
        near = Neighbours(
            np.zeros((len(queries), wanted), np.int32),
            np.zeros(len(queries), np.int64),
            np.zeros((len(queries), wanted, self.key_size), np.float32),
            np.zeros((len(queries), wanted), np.float32),
            np.zeros((len(queries), wanted), np.float32),
        )
        look_up(tables.keys, tables.sketch, tables.values, tables.size, actions, queries, *near)
        if touch:
            self.touch(actions, near.slots, near.distances, near.found, rows=1)
        return near

    def touch(self, actions: Longs, slots: Ints, distances: Floats, found: Longs, *, rows: int) -> None:
        """Tell the strategy, if it wants to know, of entries that were looked up: `rows` rows for each query."""
        if not self.strategy.touches:
            return
        try:
            if self.compiled is not None:
                self.touch_slots(self.compiled, self.tables, actions, slots, distances, found, rows)
            else:
                plain.touch_rows(self.strategy, self.tables, actions, slots, distances, found, rows)
        finally:
            if self.watched:
                self.check_numbers()

    def write(self, action: int, keys: Any, values: Floats, states: States, episode_returns: Doubles) -> None:
        """Write states in order of time; `episode_returns` has one number for each or one for all."""
        renewal, reading, tables = self.renewal, self.reading, self.tables
        try:
            if self.compiled is not None:
                self.write_states(
                    self.compiled, tables, action, keys, values, states, episode_returns, renewal, reading
                )
            else:
                returns = np.broadcast_to(episode_returns, len(values)).tolist()
                for key, value, state, whole in zip(keys, values.tolist(), states, returns, strict=True):
                    plain.write_one(self.strategy, tables, action, key, value, state, whole, renewal, reading)
        finally:
            if self.watched:
                self.check_numbers()
        self.keep_sketch()

    def keep_sketch(self) -> None:
        """Find the axes of the sketch when there are enough entries, and again when twice as much was written."""
        tables = self.tables
        written = int(tables.size.sum() + tables.writes.sum())
        if tables.sketch and len(tables.sketch[0]) and written >= max(FEWEST, 2 * self.sketched_at):
            find_sketch(*tables.sketch, tables.keys, tables.size, self.capacity)
            self.sketched_at = written

    def adjust(self, actions: Longs, slots: Longs, keys: Floats, values: Floats) -> None:
        """Give entries new keys and values."""
        adjust(self.tables, actions, slots, keys, values)
        if type(self.strategy).adjusted is Strategy.adjusted:
            return
        try:
            if self.compiled is not None:
                self.note_adjusted(self.compiled, self.tables, actions, slots)
            else:
                for action, slot in zip(actions.tolist(), slots.tolist(), strict=True):
                    self.strategy.adjusted(slot, float(self.tables.values[action, slot]), self.numbers_of(action))
        finally:
            if self.watched:
                self.check_numbers()

    def fill(self, tables: Tables, action: int, keys: Floats) -> None:
        """Lay out one table's keys in fresh tables, and build its hash index and heap."""
        if not fill(tables, action, keys, self.compiled is not None and bool(self.strategy.order)):
            raise InvalidInputError(f"the states of table {action} are not hashes: too many share a place in the index")

    def take(self, tables: Tables) -> None:
        """Use these tables from now on."""
        self.tables = tables
        self.sketched_at = 0
        self.keep_sketch()
