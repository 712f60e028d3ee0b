"""The tables with their keys on a GPU, where they are searched; everything else stays in main memory.

The search is exact: direct differences, and ties to the lowest slot. The device decides the order of summation, so
distances may differ from the CPU's in the last bits.
"""

from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from engram.compiling import compiled
from engram.devices import find_device, free_on, torch
from engram.errors import InvalidInputError
from engram.memory.arguments import as_floats
from engram.memory.description import count_wanted, describe, find_match, is_full, is_updated
from engram.memory.device_search import Found, Search, plan_all, plan_each, unpack
from engram.memory.read import Reading, weigh
from engram.memory.store import Neighbours, Store
from engram.memory.strategies import CompiledStrategy, Strategy
from engram.memory.strategy_types import Kernel
from engram.memory.tables import Renewal, Tables
from engram.memory.write import Placed, place
from engram.typing import Doubles, Floats, Ints, Longs, States, Whole

CHUNK = 2**28  # largest number of float32 that one search holds at a time


def device_store(device: str) -> type[Store]:
    """The kind of store for a device: the usual one where "auto" finds no GPU."""
    found = find_device(device)
    return Store if found.type == "cpu" else type("DeviceStore", (DeviceStore,), {"device": found})


class DeviceStore(Store):
    """Keys in a tensor on the device; values, states, numbers, heap and hash index in tables whose keys have size 0."""

    device = torch.device("cpu")
    in_main_memory = False

    def __init__(self, *, strategy: Strategy, **settings: Any) -> None:
        if not isinstance(strategy, CompiledStrategy):
            raise InvalidInputError(
                f"{strategy.name}, a strategy in plain Python, needs a memory on the CPU; "
                "use device='cpu', or derive it from CompiledStrategy"
            )
        super().__init__(strategy=strategy, **settings)
        self._wanted, self._write_found = Kernel(neighbours_wanted), Kernel(write_found)
        self._write_all = Kernel(write_all)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, in main memory and on the device."""
        return super().nbytes + self._keys.nbytes + (0 if self._values is None else self._values.there.nbytes)

    def new_tables(self, actions: int, companions: int) -> Tables:
        """Empty tables, and an empty tensor of keys."""
        self.check_room(4 * actions * self.capacity * self.key_size, actions, free_on(self.device))
        self._fresh_keys = torch.zeros(actions, self.capacity, self.key_size, device=self.device)
        if not hasattr(self, "_keys"):
            self._keys = self._fresh_keys
            self._search = make_search(self._keys, self.reading.neighbours)
            self._way = torch.zeros(self.key_size, dtype=torch.float64, device=self.device)
            self._values: Values | None = None  # once they are wanted there
        return self.tables_for_keys(actions, companions, 0)

    def as_keys(self, keys: Any) -> Any:
        """Keys as a tensor on the device."""
        dense = isinstance(keys, torch.Tensor) and keys.layout == torch.strided
        there = dense and keys.device == self.device and keys.is_floating_point()
        tensor = keys.detach() if there else torch.from_numpy(as_floats("keys", keys)).to(self.device)
        return tensor.float().contiguous()

    def keys(self, action: int, first: int = 0, end: int | None = None) -> Floats:
        """A copy of one table's keys, [size, key_size], or of those from one slot to another."""
        end = int(self.tables.size[action]) if end is None else end
        keys: Floats = self._keys[action, first:end].cpu().numpy().copy()
        return keys

    def search(self, queries: Any, actions: Longs | None, wanted: int) -> Found:
        """The nearest entries of each query in the table of its own action, or in all: a row for each table."""
        return unpack(self.find_codes(queries, actions, wanted))

    def note_sizes(self) -> None:
        """Tell the search how many entries the tables have."""
        self._search.note_sizes(self.tables.size)

    def work(self, count: int, rows: int) -> Any | None:
        """Room for a search of this shape that can be recorded; None where that cannot be."""
        if rows * self._search.row_numbers > CHUNK:
            return None
        return self._search.work(count, rows, self.reading.neighbours)

    def find_codes(self, queries: Any, actions: Longs | None, wanted: int) -> Longs:
        """What a search finds as codes, [R, wanted + 1]: see device_search.py."""
        tables = len(self.tables.size)
        self.note_sizes()
        rows = 1 if actions is not None else tables  # of a query
        count = max(1, CHUNK // (rows * self._search.row_numbers))
        codes = [np.zeros((0, wanted + 1), np.int64)]
        for begin in range(0, len(queries), count):
            some = queries[begin : begin + count]
            plan = plan_all(tables, len(some)) if actions is None else plan_each(tables, actions[begin : begin + count])
            codes.append(self._search.nearest(some, plan, wanted))
        return codes[1] if len(codes) == 2 else np.concatenate(codes)

    def read(self, queries: Any, *, touch: bool) -> Any | None:
        """Q of every query in every table, [B, actions]; None if a query cannot be searched."""
        near = self.search(queries, None, self.reading.neighbours)
        return self.read_found(near, touch=touch) if near.usable else None

    def read_found(self, near: Found, *, touch: bool) -> Floats:
        """Q of every query in every table, [B, actions], from the neighbours in each."""
        tables, wanted = len(self.tables.size), self.reading.neighbours
        count = len(near.slots) // tables
        values = np.empty((count, tables), np.float32)
        shape = *values.shape, wanted
        slots, distances = near.slots.reshape(shape), near.distances.reshape(shape)
        weigh(self.tables.values, self.tables.size, slots, distances, *self.reading, values)
        if touch:
            actions = all_actions(tables, count)
            found = np.minimum(self.tables.size, wanted)[actions]
            self.touch(actions, near.slots, near.distances, found, rows=tables)
        return values

    def find_neighbours(self, action: int, queries: Any, wanted: int) -> tuple[Ints, Floats]:
        """Slots and squared distances of the nearest entries of one table, each [B, wanted]."""
        near = self.search(queries, np.full(len(queries), action), self.reading.neighbours)
        return near.slots[:, :wanted], near.distances[:, :wanted]

    def look_up(self, actions: Longs, queries: Any, *, touch: bool) -> Neighbours:
        """The neighbours of each query in the table of its own action; keys and values stay on the device."""
        self.check_room_for(len(queries), self.reading.neighbours * (self.key_size + 4))
        slots, distances, _ = self.search(queries, actions, self.reading.neighbours)
        found = np.minimum(self.tables.size, self.reading.neighbours)[actions]
        entries = torch.from_numpy(actions[:, None] * self.capacity + slots).to(self.device)
        near = Neighbours(
            slots,
            found,
            self.all_keys[entries],
            self.as_keys(self.tables.values[actions[:, None], slots]),
            distances,
        )
        if touch:
            self.touch(actions, slots, distances, found, rows=1)
        return near

    def write(self, action: int, keys: Any, values: Floats, states: States, episode_returns: Doubles) -> None:
        """Write states in order of time; where nothing has to be searched, all keys go in one copy."""
        keys, returns = self.as_keys(keys), np.ascontiguousarray(np.broadcast_to(episode_returns, len(values)))
        strategy = self.strategy
        needs = {strategy.needs_nearest, strategy.needs_neighbours, strategy.needs_estimate}
        fills_up = self.tables.size[action] + len(values) > self.capacity
        try:
            if True in needs or ("full" in needs and fills_up):
                for t in range(len(values)):
                    self.write_one(action, keys[t], float(values[t]), states[t], float(returns[t]))
            else:
                self.write_unsearched(action, keys, values, states, returns)
        finally:
            if self.watched:
                self.check_numbers()

    def write_unsearched(self, action: int, keys: Any, values: Floats, states: States, returns: Doubles) -> None:
        """Write states for which the strategy does not need the nearest entries."""
        slots, weights = np.full(len(values), -1, np.int64), np.zeros(len(values))
        try:
            self._write_all(
                self.compiled, self.tables, action, values, states, returns, self.renewal, self.reading, slots, weights
            )
        finally:  # states before one that was refused are stored
            self.move_keys(action, slots, keys, weights)
            self.note_values(action * self.capacity + slots[slots >= 0])

    def move_keys(self, action: int, slots: Longs, keys: Any, weights: Doubles) -> None:
        """As `move_key` for one key after the other, in one copy where each is taken as it is or not at all."""
        if np.isin(weights, (0, 1)).all():
            moved = np.flatnonzero(weights)[::-1]  # of several in one slot, the last counts
            where, last = np.unique(slots[moved], return_index=True)
            self._keys[action, torch.from_numpy(where).to(self.device)] = keys[moved[last]]
        else:
            for t in range(len(slots)):
                self.move_key(action, slots[t], keys[t], weights[t])

    def write_one(self, action: int, key: Any, value: float, state: np.uint64, episode_return: float) -> None:
        """Write one state after a search on the device for what the strategy needs to know."""
        tables, strategy, reading = self.tables, self.compiled, self.reading
        wanted = self._wanted(strategy, tables, action, state, reading.neighbours)
        found = min(wanted, int(tables.size[action]))
        slots, distances = np.empty(0, np.int32), np.empty(0, np.float32)
        if found:
            near = self.search(key[None], np.array([action]), wanted)
            slots, distances = near.slots[0, :found], near.distances[0, :found]
        placed = self._write_found(
            strategy, tables, action, value, state, episode_return, slots, distances, self.renewal, reading
        )
        self.move_key(action, placed.slot, key, placed.weight)
        if placed.slot >= 0:
            self.note_values(np.array([action * self.capacity + placed.slot]))

    def move_key(self, action: int, slot: Whole, key: Any, weight: float) -> None:
        """c ← c + w (s − c), the product and the sum in float64 as on the CPU."""
        if weight == 1:
            self._keys[action, slot].copy_(key)
        elif weight > 0:
            entry = self._keys[action, slot]
            torch.add(torch.sub(key, entry, out=self._way).mul_(weight), entry, out=entry)

    def adjust(self, actions: Longs, slots: Longs, keys: Floats, values: Floats) -> None:
        """Give entries new keys and values."""
        where = torch.from_numpy(actions).to(self.device), torch.from_numpy(slots).to(self.device)
        self._keys[where] = self.as_keys(keys)
        self.note_values(actions * self.capacity + slots)
        super().adjust(actions, slots, np.zeros((len(values), 0), np.float32), values)

    def note_values(self, entries: Longs) -> None:
        """Note that the values of entries, given as action × capacity + slot, have changed."""
        if self._values is not None:
            self._values.old.append(entries)

    def values(self) -> Any:
        """The values of all entries on the device, [actions · capacity], as they are now."""
        if self._values is None:
            self._values = Values(self.tables.values, self.device)
        return self._values.renewed(self.tables.values)

    def fill(self, tables: Tables, action: int, keys: Floats) -> None:
        """Copy one table's keys to the fresh tensor, and build its hash index and heap."""
        self._fresh_keys[action, : len(keys)] = self.as_keys(keys)
        super().fill(tables, action, np.zeros((len(keys), 0), np.float32))

    def take(self, tables: Tables) -> None:
        """Use these tables from now on; the tensor of keys stays where it is and is overwritten."""
        super().take(tables)
        self._keys.copy_(self._fresh_keys)
        self._fresh_keys = self._keys
        if self._values is not None:
            self._values.there.copy_(torch.from_numpy(tables.values).view(-1))
            self._values.old = []

    @property
    def all_keys(self) -> Any:
        """The keys of all entries on the device, [actions · capacity, key_size]."""
        return self._keys.view(-1, self.key_size)


class Values:
    """The values of all entries on the device, of which those that have changed are sent when they are wanted."""

    def __init__(self, values: Floats, device: Any) -> None:
        self.there = torch.from_numpy(values).view(-1).to(device, copy=True)
        self.old: list[Longs] = []  # entries that have changed since, as action × capacity + slot

    def renewed(self, values: Floats) -> Any:
        """The values as they are now."""
        if self.old:
            entries = np.unique(np.concatenate(self.old))
            new = torch.from_numpy(values.reshape(-1)[entries])
            self.there[torch.from_numpy(entries).to(self.there.device)] = new.to(self.there.device)
            self.old = []
        return self.there


@lru_cache(maxsize=16)
def all_actions(tables: int, count: int) -> Longs:
    """The action of each row of a search for `count` queries in every table."""
    return np.tile(np.arange(tables), count)


def make_search(keys: Any, neighbours: int) -> Search:
    """The search for these keys: Triton kernels where they can be compiled, otherwise PyTorch."""
    if keys.is_cuda and find_spec("triton") is not None:
        from engram.memory.fused import FusedSearch  # noqa: PLC0415 (needs Triton)

        if FusedSearch.fits(keys.shape[1], keys.shape[2], neighbours):
            return FusedSearch(keys)
    return Search(keys)


@compiled
def neighbours_wanted(strategy: CompiledStrategy, tables: Tables, table: int, state: np.uint64, neighbours: int) -> int:
    """How many of the nearest entries must be found before a state is written."""
    updated = is_updated(strategy, tables, table, find_match(tables, table, state))
    return count_wanted(strategy, updated, is_full(tables, table), neighbours)


@compiled
def write_found(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    value: float,
    state: np.uint64,
    episode_return: float,
    slots: Ints,  # [found], nearest first
    distances: Floats,  # [found]
    renewal: Renewal,
    reading: Reading,
) -> Placed:
    """Write all of a state but its key, once the nearest entries are found; return where the key goes."""
    tables.clock[0] += 1
    match = find_match(tables, table, state)
    updated = is_updated(strategy, tables, table, match)
    write = describe(strategy, tables, table, value, episode_return, match, updated, slots, distances, reading)
    no_key = np.empty(0, np.float32)
    return place(strategy, tables, table, no_key, state, write, updated, renewal)


@compiled
def write_all(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    values: Floats,  # [T]
    states: States,  # [T]
    episode_returns: Doubles,  # [T]
    renewal: Renewal,
    reading: Reading,
    slots: Longs,  # [T], out: −1 where nothing is stored
    weights: Doubles,  # [T], out
) -> None:
    """Write states in order of time for which nothing has to be searched."""
    no_slots, no_distances = np.empty(0, np.int32), np.empty(0, np.float32)
    for t in range(len(values)):
        slots[t], weights[t] = write_found(
            strategy,
            tables,
            table,
            np.float64(values[t]),
            states[t],
            episode_returns[t],
            no_slots,
            no_distances,
            renewal,
            reading,
        )
