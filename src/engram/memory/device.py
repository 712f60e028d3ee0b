"""The tables with their keys on a GPU, searched there; everything else stays in the computer's own memory.

The search is exact: direct differences, and ties to the lowest slot. Sums are taken in the order in which the device
takes them, so distances may differ from the CPU's in the last bits.
"""

from importlib.util import find_spec
from typing import Any

import numpy as np

from engram.compiling import compiled
from engram.devices import find_device, torch
from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.device_search import Found, Search, plan_all, plan_each, unpack
from engram.memory.read import weigh, weighted_mean
from engram.memory.store import Neighbours, Store
from engram.memory.strategies import BuiltIn, Strategy
from engram.memory.strategies.rules import Rules
from engram.memory.tables import Tables, adjust, new_tables
from engram.memory.write import NOT_A_NUMBER, find_match, known, settle
from engram.typing import Doubles, Floats, Ints, Longs, States, Whole

CHUNK = 2**28  # numbers that a search holds at a time


def device_store(device: str) -> type[Store]:
    """The kind of store for a device: the usual one where "auto" finds no GPU."""
    found = find_device(device)
    return Store if found.type == "cpu" else type("DeviceStore", (DeviceStore,), {"device": found})


class DeviceStore(Store):
    """Keys as a tensor on the device; values, states, ranks, order and index in tables whose keys have size 0."""

    device = torch.device("cpu")

    def __init__(self, *, strategy: Strategy, **settings: Any) -> None:
        if not isinstance(strategy, BuiltIn):
            raise InvalidInputError(
                f"{strategy.name}, a strategy in plain Python, needs a memory on the CPU; use device='cpu'"
            )
        super().__init__(strategy=strategy, **settings)

    @property
    def nbytes(self) -> int:
        """Bytes of everything that is kept, here and on the device."""
        return super().nbytes + self._keys.nbytes

    def new_tables(self, actions: int, companions: int) -> Tables:
        """Empty tables, and empty keys beside them."""
        self._fresh_keys = torch.zeros(actions, self.capacity, self.key_size, device=self.device)
        if not hasattr(self, "_keys"):
            self._keys = self._fresh_keys
            self._search = make_search(self._keys, self.reading.neighbours)
            self._way = torch.zeros(self.key_size, dtype=torch.float64, device=self.device)
        return new_tables(actions, self.capacity, 0, companions)

    def as_keys(self, keys: Any) -> Any:
        """Keys as a tensor on the device."""
        return torch.as_tensor(keys, device=self.device).detach().float().contiguous()

    def keys(self, action: int) -> Floats:
        """A copy of one table's keys, [size, key_size]."""
        keys: Floats = self._keys[action, : int(self.tables.size[action])].cpu().numpy().copy()
        return keys

    def search(self, queries: Any, actions: Longs | None, wanted: int) -> Found:
        """The nearest entries of each query in the table of its own action, or in all: a row for each table."""
        tables = len(self.tables.size)
        self._search.note_sizes(self.tables.size)
        rows = 1 if actions is not None else tables  # of a query
        count = max(1, CHUNK // (rows * self._search.row_numbers))
        codes = [np.zeros((0, wanted + 1), np.int64)]
        for begin in range(0, len(queries), count):
            some = queries[begin : begin + count]
            plan = plan_all(tables, len(some)) if actions is None else plan_each(tables, actions[begin : begin + count])
            codes.append(self._search.nearest(some, plan, wanted))
        return unpack(codes[1] if len(codes) == 2 else np.concatenate(codes))

    def read(self, queries: Any, *, touch: bool) -> Any | None:
        """Q of every query in every table, [B, actions]; None if a query is not finite."""
        tables, wanted = len(self.tables.size), self.reading.neighbours
        near = self.search(queries, None, wanted)
        if not near.finite:
            return None
        values = np.empty((len(queries), tables), np.float32)
        shape = *values.shape, wanted
        slots, distances = near.slots.reshape(shape), near.distances.reshape(shape)
        weigh(self.tables.values, self.tables.size, slots, distances, *self.reading, values)
        if touch and self.touches:
            actions = np.tile(np.arange(tables), len(queries))
            found = np.minimum(self.tables.size, wanted)[actions]
            self.touch_slots(actions, near.slots, found, rows=tables)
        return values

    def find_neighbours(self, action: int, queries: Any, wanted: int) -> tuple[Ints, Floats]:
        """Slots and squared distances of the nearest entries of one table, each [B, wanted]."""
        near = self.search(queries, np.full(len(queries), action), self.reading.neighbours)
        return near.slots[:, :wanted], near.distances[:, :wanted]

    def look_up(self, actions: Longs, queries: Any, *, touch: bool) -> Neighbours:
        """The neighbours of each query in the table of its own action; keys and values stay on the device."""
        slots = self.search(queries, actions, self.reading.neighbours).slots
        found = np.minimum(self.tables.size, self.reading.neighbours)[actions]
        entries = torch.from_numpy(actions[:, None] * self.capacity + slots).to(self.device)
        near = Neighbours(
            slots,
            found,
            self._keys.view(-1, self.key_size)[entries],
            self.as_keys(self.tables.values[actions[:, None], slots]),
        )
        if touch and self.touches:
            self.touch_slots(actions, slots, found, rows=1)
        return near

    def write(self, action: int, keys: Any, values: Floats, states: States) -> None:
        """Write states in order of time, one at a time; where nothing is to be looked for, all keys go in one copy."""
        rules = self.rules
        assert rules is not None
        fills_up = self.tables.size[action] + len(values) > self.capacity
        if not (rules.needs_estimate or (rules.needs_nearest and fills_up)):
            slots, weights = np.empty(len(values), np.int64), np.empty(len(values))
            write_all(self.tables, action, values, states, rules, self.step, slots, weights)
            moved = np.flatnonzero(weights)[::-1]  # of several in one slot, the last counts
            where, last = np.unique(slots[moved], return_index=True)
            self._keys[action, torch.from_numpy(where).to(self.device)] = self.as_keys(keys[moved[last]])
            return
        for key, value, state in zip(self.as_keys(keys), values, states, strict=True):
            self.write_one(action, key, float(value), state)

    def write_one(self, action: int, key: Any, value: float, state: np.uint64) -> None:
        """Write one state by the rules of a built-in strategy, looking on the device for what they need."""
        tables, rules = self.tables, self.rules
        assert rules is not None
        near, distance, estimate = -1, np.nan, np.nan
        size = int(tables.size[action])
        if rules.needs_estimate and hash_index.find(tables.buckets[action], tables.states[action], state) < 0:
            found = min(self.reading.neighbours, size)
            slots, distances = self.find_neighbours(action, key[None], self.reading.neighbours)
            estimate = float(weighted_mean(tables.values[action], distances[0], slots[0], found, self.reading))
        if rules.needs_nearest and size == self.capacity:
            nearest = self.search(key[None], np.array([action]), 1)
            near, distance = int(nearest.slots[0, 0]), float(nearest.distances[0, 0])
        slot, weight = write_found(tables, action, value, state, near, distance, estimate, rules, self.step)
        entry = self._keys[action, slot]
        if weight == 1:
            entry.copy_(key)
        elif weight > 0:  # c ← c + w (s − c), the product and the sum in float64 as on the CPU
            torch.add(torch.sub(key, entry, out=self._way).mul_(weight), entry, out=entry)

    def adjust(self, actions: Longs, slots: Longs, keys: Floats, values: Floats) -> None:
        """Give entries new keys and values."""
        where = torch.from_numpy(actions).to(self.device), torch.from_numpy(slots).to(self.device)
        self._keys[where] = self.as_keys(keys)
        adjust(self.tables, actions, slots, np.zeros((len(values), 0), np.float32), values, self.ranked_by_value)

    def fill(self, tables: Tables, action: int, keys: Floats) -> None:
        """Put one table's keys beside fresh tables, and index and order its entries."""
        self._fresh_keys[action, : len(keys)] = self.as_keys(keys)
        super().fill(tables, action, np.zeros((len(keys), 0), np.float32))

    def take(self, tables: Tables, numbers: dict[str, Doubles]) -> None:
        """Put fresh tables in the place of those there were; the keys go where the old ones are, and stay there."""
        super().take(tables, numbers)
        self._keys.copy_(self._fresh_keys)
        self._fresh_keys = self._keys


def make_search(keys: Any, neighbours: int) -> Search:
    """The search for these keys: kernels of our own where Triton can compile them, otherwise PyTorch's."""
    if keys.is_cuda and find_spec("triton") is not None:
        from engram.memory.fused import FusedSearch  # noqa: PLC0415 (needs Triton)

        if FusedSearch.fits(keys.shape[1], keys.shape[2], neighbours):
            return FusedSearch(keys)
    return Search(keys)


@compiled
def write_found(
    tables: Tables,
    table: int,
    value: float,
    state: np.uint64,
    near: Whole,
    distance: float,
    estimate: float,
    rules: Rules,
    step: float,
) -> tuple[Whole, float]:
    """Write one state for which the search is done: all but its key, which goes to a slot with a weight."""
    tables.clock[0] += 1
    match = find_match(tables, table, state, rules)
    if rules.needs_estimate and match >= 0:
        estimate = np.float64(tables.values[table, match])
    write = known(tables, table, value, estimate, near, distance, rules.ordered)
    nothing = np.empty(0, np.float32)  # the key, as far as these tables know it
    return settle(tables, table, nothing, value, state, match, write, rules, step)


@compiled
def write_all(
    tables: Tables,
    table: int,
    values: Floats,  # [T]
    states: States,  # [T]
    rules: Rules,
    step: float,
    slots: Longs,  # [T], out
    weights: Doubles,  # [T], out: 1 where a key is new, otherwise 0
) -> None:
    """Write states in order of time for which nothing is to be looked for."""
    for t in range(len(values)):
        nothing = NOT_A_NUMBER
        slots[t], weights[t] = write_found(
            tables, table, np.float64(values[t]), states[t], np.int64(-1), nothing, nothing, rules, step
        )
