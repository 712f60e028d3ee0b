"""The tables with their keys on a GPU, searched there; everything else stays in the computer's own memory.

The search is exact: direct differences, and ties to the lowest slot. Sums are taken in the order in which the device
takes them, so distances may differ from the CPU's in the last bits.
"""

from typing import Any

import numpy as np

from engram.devices import find_device, torch
from engram.errors import InvalidInputError
from engram.memory import index, order
from engram.memory.read import weigh, weighted_mean
from engram.memory.store import Neighbours, Store
from engram.memory.strategies import BuiltIn, Strategy
from engram.memory.strategies.base import BLEND, Write
from engram.memory.strategies.rules import rank_renewed, rank_stored, when_full
from engram.memory.tables import Tables, adjust, merge, new_tables, store, update
from engram.typing import Doubles, Floats, Ints, Longs, States

CHUNK = 2**28  # differences held at a time
NOTHING = np.zeros(0, np.float32)  # the key of an entry, as far as the tables here know it


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
            self._slots = torch.arange(self.capacity, device=self.device)
        return new_tables(actions, self.capacity, 0, companions)

    def as_keys(self, keys: Any) -> Any:
        """Keys as a tensor on the device."""
        return torch.as_tensor(keys, device=self.device).detach().float().contiguous()

    def keys(self, action: int) -> Floats:
        """A copy of one table's keys, [size, key_size]."""
        keys: Floats = self._keys[action, : int(self.tables.size[action])].cpu().numpy().copy()
        return keys

    def search(self, queries: Any, action: int | None, wanted: int) -> tuple[Ints, Floats]:
        """The nearest entries of every query in one table, or in all: slots and d², each [B, tables, wanted].

        Nearest first, ties to the lowest slot; beyond a table's entries d² is infinite.
        """
        tables = slice(None) if action is None else slice(action, action + 1)
        sizes = self.tables.size[tables]
        longest = min(max(int(sizes.max()), wanted), self.capacity)
        keys = self._keys[tables, :longest]
        rows = max(1, CHUNK // (len(keys) * longest * self.key_size))
        parts = []
        for some in queries.split(rows):
            d2 = (keys - some[:, None, None]).square_().sum(-1)  # [b, tables, N]
            if (sizes < longest).any():
                beyond = self._slots[:longest] >= torch.from_numpy(sizes).to(self.device)[:, None]
                d2[:, beyond] = torch.inf
            parts.append(nearest(d2, self._slots[:longest], wanted))
        slots, distances = (np.concatenate(part) for part in zip(*parts, strict=True))
        order = np.lexsort((slots, distances))
        return np.take_along_axis(slots, order, -1), np.take_along_axis(distances, order, -1)

    def read(self, queries: Any, *, touch: bool) -> Any | None:
        """Q of every query in every table, [B, actions]; None if a query is not finite."""
        queries = self.as_keys(queries)
        if not bool(queries.isfinite().all()):
            return None
        slots, distances = self.search(queries, None, self.reading.neighbours)
        values = np.empty(slots.shape[:2], np.float32)
        weigh(self.tables.values, self.tables.size, slots, distances, *self.reading, values)
        if touch and self.touches:
            tables, found = len(self.tables.size), np.minimum(self.tables.size, self.reading.neighbours)
            actions = np.tile(np.arange(tables), len(queries))
            self.touch_slots(actions, slots.reshape(len(actions), -1), np.tile(found, len(queries)), rows=tables)
        return values

    def find_neighbours(self, action: int, queries: Any, wanted: int) -> tuple[Ints, Floats]:
        """Slots and squared distances of the nearest entries of one table, each [B, wanted]."""
        slots, distances = self.search(self.as_keys(queries), action, wanted)
        return slots[:, 0], distances[:, 0]

    def look_up(self, actions: Longs, queries: Any, *, touch: bool) -> Neighbours:
        """The neighbours of each query in the table of its own action; keys and values stay on the device."""
        queries, wanted = self.as_keys(queries), self.reading.neighbours
        slots = np.zeros((len(queries), wanted), np.int32)
        for action in np.unique(actions).tolist():
            mine = np.flatnonzero(actions == action)
            slots[mine] = self.search(queries[torch.from_numpy(mine).to(self.device)], action, wanted)[0][:, 0]
        found = np.minimum(self.tables.size, wanted)[actions]
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
        """Write states in order of time, one at a time."""
        keys = self.as_keys(keys)
        for key, value, state in zip(keys, values, states, strict=True):
            self.write_one(action, key, float(value), state)

    def write_one(self, action: int, key: Any, value: float, state: np.uint64) -> None:
        """Write one state by the rules of a built-in strategy, looking on the device for what they need."""
        tables, rules = self.tables, self.rules
        assert rules is not None
        ranks, heap, place = tables.ranks[action], tables.heap[action], tables.place[action]
        tables.clock[0] += 1
        full = bool(tables.size[action] == self.capacity)
        match = int(index.find(tables.buckets[action], tables.states[action], state))
        if full and rules.clusters:
            match = index.EMPTY
        write = self.look(action, key, value, match, full)
        if match >= 0:
            slot, weight = match, 1.0 if self.step > 0 else 0.0
            update(tables, action, slot, NOTHING, value, self.step)
            ranks[slot] = rank_renewed(rules, ranks[slot], float(tables.values[action, slot]), write)
        elif not full:
            slot, weight = write.size, 1.0
            store(tables, action, slot, NOTHING, value, state)
            ranks[slot] = rank_stored(rules, write)
            heap[slot] = place[slot] = slot
        else:
            kind, chosen, weight = when_full(rules, write)
            slot = int(chosen)
            if kind == BLEND:
                merge(tables, action, slot, NOTHING, value, weight)
                ranks[slot] = rank_renewed(rules, ranks[slot], float(tables.values[action, slot]), write)
            else:
                store(tables, action, slot, NOTHING, value, state)
                ranks[slot] = rank_stored(rules, write)
        if rules.ordered:
            order.restore(heap, place, ranks, int(tables.size[action]), slot)
        if weight == 1:
            self._keys[action, slot] = key
        elif weight > 0:
            old = self._keys[action, slot]
            self._keys[action, slot] = (old.double() + weight * (key - old).double()).float()
        if full:
            tables.writes[action] += 1

    def look(self, action: int, key: Any, value: float, match: int, full: bool) -> Write:
        """What the strategy may know of a state before it is written."""
        tables, rules = self.tables, self.rules
        assert rules is not None
        size = int(tables.size[action])
        near, distance, near_value, near_rank, estimate = -1, np.nan, np.nan, np.nan, np.nan
        if rules.needs_estimate and match >= 0:
            estimate = float(tables.values[action, match])
        elif rules.needs_estimate:
            found = min(self.reading.neighbours, size)
            slots, distances = self.find_neighbours(action, key[None], max(found, 1))
            estimate = float(weighted_mean(tables.values[action], distances[0], slots[0], found, self.reading))
        if rules.needs_nearest and full:
            slots, distances = self.find_neighbours(action, key[None], 1)
            near, distance = int(slots[0, 0]), float(distances[0, 0])
            near_value, near_rank = float(tables.values[action, near]), float(tables.ranks[action, near])
        ordered = rules.ordered and size > 0
        lowest = int(tables.heap[action, 0]) if ordered else -1
        lowest_rank = float(tables.ranks[action, lowest]) if ordered else np.nan
        return Write(
            size,
            self.capacity,
            int(tables.clock[0]),
            int(tables.writes[action]),
            value,
            estimate,
            near,
            distance,
            near_value,
            near_rank,
            lowest,
            lowest_rank,
        )

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
        """Put fresh tables, and the keys beside them, in the place of those there were."""
        super().take(tables, numbers)
        self._keys = self._fresh_keys


def nearest(d2: Any, numbers: Any, wanted: int) -> tuple[Ints, Floats]:
    """Slots and values of the smallest distances [b, tables, N], in any order, but ties to the lowest slot.

    Where entries at equal distance are left out, the choice among them is made by codes with d² in the high half and
    the slot in the low half, which are ordered by both: a float32 that is not negative has the order of its bits.
    """
    values, slots = d2.topk(wanted, largest=False)
    candidates = (d2 <= values[..., -1:]).sum(-1)
    if (candidates.cpu().numpy() > wanted).any():
        codes = ((d2.view(torch.int32).long() << 32) | numbers).topk(wanted, largest=False).values
        slots, values = codes & 0xFFFFFFFF, (codes >> 32).int().view(torch.float32)
    return slots.int().cpu().numpy(), values.cpu().numpy()
