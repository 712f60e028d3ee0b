"""The tables in main memory: searching, reading, writing and adjusting their entries."""

from typing import Any, NamedTuple

import numpy as np

from engram.memory import plain
from engram.memory.batch import write_episode
from engram.memory.keys import get_keys
from engram.memory.read import Reading, find_neighbours, look_up, read
from engram.memory.sketch import FEWEST, find_sketch
from engram.memory.strategies import CompiledStrategy, Strategy
from engram.memory.strategy_types import Kernel
from engram.memory.tables import Tables, adjust, fill, new_tables, sketch_of
from engram.memory.touch import note_adjusted, read_and_touch, touch_slots
from engram.memory.write import write_states
from engram.typing import Array, Doubles, Floats, Ints, Longs, States


class Neighbours(NamedTuple):
    """The nearest entries of each query of a batch, nearest first; beyond `found` there is nothing."""

    slots: Ints  # [B, k]
    found: Longs  # [B]
    keys: Any  # [B, k, key_size]
    values: Any  # [B, k]


class Store:
    """All tables of a memory. Its arguments have been checked."""

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
        self.compiled = strategy if isinstance(strategy, CompiledStrategy) else None
        self.tables = self.new_tables(actions, companions)
        self.write_states = Kernel(write_episode if by_episode else write_states)
        self.plain_read, self.read_and_touch = Kernel(read), Kernel(read_and_touch)
        self.touch_slots, self.note_adjusted = Kernel(touch_slots), Kernel(note_adjusted)
        self.sketch = sketch_of(self.tables)
        self.sketched_at = 0  # entries written when the axes of the sketch were found

    def new_tables(self, actions: int, companions: int) -> Tables:
        """Empty tables of this store's kind."""
        return self.tables_for_keys(actions, companions, self.key_size)

    def tables_for_keys(self, actions: int, companions: int, key_size: int) -> Tables:
        """Empty tables with keys of this size and the numbers of the strategy."""
        columns, own = len(self.strategy.column_names()), len(self.strategy.table_numbers)
        return new_tables(actions, self.capacity, key_size, companions=companions, columns=columns, table_numbers=own)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays: list[Array] = [*self.tables]
        return sum(array.nbytes for array in arrays)

    def as_keys(self, keys: Any) -> Any:
        """Keys in the form that the other methods take."""
        return as_floats(keys)

    def keys(self, action: int) -> Floats:
        """A copy of one table's keys, [size, key_size]."""
        keys = np.empty((int(self.tables.size[action]), self.key_size), np.float32)
        get_keys(self.tables.keys, action, self.capacity, keys)
        return keys

    def numbers_of(self, action: int) -> dict[str, Doubles]:
        """One table's numbers by name, to be written to."""
        return plain.named_numbers(self.strategy, self.tables, action)

    def read(self, queries: Any, *, touch: bool) -> Any | None:
        """Q of every query in every table, [B, actions]; None if a query is not finite."""
        tables = self.tables
        values = np.empty((len(queries), len(tables.size)), np.float32)
        if touch and self.strategy.touches and self.compiled is not None:
            finite = self.read_and_touch(
                self.compiled,
                tables.keys,
                self.sketch,
                tables.values,
                tables.ranks,
                tables.heap,
                tables.place,
                tables.columns,
                tables.own,
                tables.size,
                tables.clock,
                queries,
                *self.reading,
                values,
            )
            return values if finite else None
        finite = self.plain_read(tables.keys, self.sketch, tables.values, tables.size, queries, *self.reading, values)
        if finite and touch and self.strategy.touches:
            self.touch_all(queries)
        return values if finite else None

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
        distances = np.empty((len(queries), wanted), np.float32)
        slots = np.empty((len(queries), wanted), np.int32)
        size = int(self.tables.size[action])
        if wanted:
            find_neighbours(self.tables.keys, self.sketch, action, size, self.capacity, queries, distances, slots)
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
        distances = np.empty((len(queries), wanted), np.float32)
        look_up(tables.keys, self.sketch, tables.values, tables.size, actions, queries, *near, distances)
        if touch:
            self.touch(actions, near.slots, distances, near.found, rows=1)
        return near

    def touch(self, actions: Longs, slots: Ints, distances: Floats, found: Longs, *, rows: int) -> None:
        """Tell the strategy, if it wants to know, of entries that were looked up: `rows` rows for each query."""
        if self.strategy.touches and self.compiled is not None:
            self.touch_slots(self.compiled, self.tables, actions, slots, distances, found, rows)
        elif self.strategy.touches:
            plain.touch_rows(self.strategy, self.tables, actions, slots, distances, found, rows)

    def write(self, action: int, keys: Any, values: Floats, states: States, episode_returns: Doubles) -> None:
        """Write states in order of time; `episode_returns` has one number for each or one for all."""
        step, reading = self.step, self.reading
        if self.compiled is not None:
            self.write_states(self.compiled, self.tables, action, keys, values, states, episode_returns, step, reading)
        else:
            returns = np.broadcast_to(episode_returns, len(values)).tolist()
            for key, value, state, whole in zip(keys, values.tolist(), states, returns, strict=True):
                plain.write_one(self.strategy, self.tables, action, key, value, state, whole, step, reading)
        self.keep_sketch()

    def keep_sketch(self) -> None:
        """Find the axes of the sketch when there are enough entries, and again when twice as much was written."""
        tables = self.tables
        written = int(tables.size.sum() + tables.writes.sum())
        if len(tables.codes) and written >= max(FEWEST, 2 * self.sketched_at):
            find_sketch(tables.codes, tables.axes, tables.keys, tables.size, self.capacity)
            self.sketched_at = written

    def adjust(self, actions: Longs, slots: Longs, keys: Floats, values: Floats) -> None:
        """Give entries new keys and values."""
        adjust(self.tables, actions, slots, keys, values)
        if type(self.strategy).adjusted is Strategy.adjusted:
            return
        if self.compiled is not None:
            self.note_adjusted(self.compiled, self.tables, actions, slots)
            return
        for action, slot in zip(actions.tolist(), slots.tolist(), strict=True):
            self.strategy.adjusted(slot, float(self.tables.values[action, slot]), self.numbers_of(action))

    def fill(self, tables: Tables, action: int, keys: Floats) -> None:
        """Lay out one table's keys in fresh tables, and build its hash index and heap."""
        fill(tables, action, keys, self.compiled is not None and bool(self.strategy.order))

    def take(self, tables: Tables) -> None:
        """Use these tables from now on."""
        self.tables = tables
        self.sketch, self.sketched_at = sketch_of(tables), 0
        self.keep_sketch()


def as_floats(numbers: Any) -> Floats:
    """Any numbers, torch's too, as a writable, contiguous array of float32."""
    if hasattr(numbers, "detach"):
        numbers = numbers.detach().float().cpu().numpy()
    with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused as such
        floats = np.ascontiguousarray(numbers, np.float32)
    return floats if floats.flags.carray else floats.copy()
