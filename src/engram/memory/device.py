"""The tables with their keys on a GPU, searched there; everything else stays in the computer's own memory.

The search is exact: direct differences, and ties to the lowest slot. Sums are taken in the order in which the device
takes them, so distances may differ from the CPU's in the last bits.
"""

from typing import Any

import numpy as np

from engram.devices import find_device, torch
from engram.errors import InvalidInputError
from engram.memory import index, order
from engram.memory.read import weighted_mean
from engram.memory.store import Neighbours, Store
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
    """Keys and a copy of the values as tensors; states, ranks, order and index in tables whose keys have size 0."""

    device = torch.device("cpu")

    def new_tables(self, actions: int, companions: int) -> Tables:
        """Empty tables, and empty keys beside them."""
        self._fresh_keys = torch.zeros(actions, self.capacity, self.key_size, device=self.device)
        if not hasattr(self, "_keys"):
            self._keys, self._values = self._fresh_keys, torch.zeros(actions, self.capacity, device=self.device)
        return new_tables(actions, self.capacity, 0, companions)

    def as_keys(self, keys: Any) -> Any:
        """Keys as a tensor on the device."""
        return torch.as_tensor(keys, device=self.device).detach().float().contiguous()

    def keys(self, action: int) -> Floats:
        """A copy of one table's keys, [size, key_size]."""
        keys: Floats = self._keys[action, : int(self.tables.size[action])].cpu().numpy().copy()
        return keys

    def search(self, queries: Any, action: int | None, wanted: int) -> tuple[Any, Any]:
        """The nearest entries of every query in one table, or in all: slots and d², each [B, tables, wanted].

        Candidates are ordered by d² and then by slot, both in one whole number: a float32 that is not negative
        has the order of its bits. Beyond a table's entries d² is infinite.
        """
        keys = self._keys if action is None else self._keys[action : action + 1]
        sizes = torch.from_numpy(self.tables.size).to(self.device)[:, None]  # [tables, 1]
        sizes = sizes if action is None else sizes[action : action + 1]
        longest = max(int(self.tables.size.max() if action is None else self.tables.size[action]), wanted)
        numbers = torch.arange(longest, device=self.device)
        rows = max(1, CHUNK // (len(keys) * longest * self.key_size))
        slots, distances = [], []
        for some in queries.split(rows):
            d2 = (keys[None, :, :longest] - some[:, None, None]).square_().sum(-1)  # [b, tables, N]
            d2 = torch.where(numbers < sizes, d2, torch.inf)
            code = (d2.view(torch.int32).long() << 32) | numbers
            best = code.topk(wanted, largest=False).values  # sorted
            slots.append(best & 0xFFFFFFFF)
            distances.append((best >> 32).int().view(torch.float32))
        return torch.cat(slots), torch.cat(distances)

    def weighted_means(self, slots: Any, distances: Any) -> Any:
        """`weighted_mean` of the neighbours [B, tables, k] in all tables at once, [B, tables]."""
        there = torch.from_numpy(np.arange(slots.shape[-1]) < self.tables.size[:, None]).to(self.device)  # [tables, k]
        near = self._values[None].expand(len(slots), -1, -1).gather(-1, slots).double()
        weights = there / (distances.double() + self.reading.delta)
        if not self.reading.inverse:
            weights = there.double().expand_as(near)
        weights = torch.where(weights.sum(-1, keepdim=True) == 0, there.double(), weights)  # every distance overflows
        mean = (weights * near).sum(-1) / weights.sum(-1).clamp(min=1e-300)
        if self.reading.exact:
            mean = torch.where(there[:, 0] & (distances[..., 0] == 0), near[..., 0], mean)
        return mean.float()

    def read(self, queries: Any, *, touch: bool) -> Any | None:
        """Q of every query in every table, [B, actions], on the device; None if a query is not finite."""
        queries = self.as_keys(queries)
        if not bool(queries.isfinite().all()):
            return None
        slots, distances = self.search(queries, None, self.reading.neighbours)
        values = self.weighted_means(slots, distances)
        if touch and self.touches:
            tables = len(self.tables.size)
            near = slots.int().cpu().numpy().reshape(len(queries) * tables, -1)
            found = np.minimum(self.tables.size, self.reading.neighbours)
            self.touch_slots(np.tile(np.arange(tables), len(queries)), near, np.tile(found, len(queries)), rows=tables)
        elif touch and self.strategy.touches:
            self.touch_one_by_one(queries)
        return values

    def find_neighbours(self, action: int, queries: Any, wanted: int) -> tuple[Ints, Floats]:
        """Slots and squared distances of the nearest entries of one table, each [B, wanted]."""
        slots, distances = self.search(self.as_keys(queries), action, wanted)
        return slots[:, 0].int().cpu().numpy(), distances[:, 0].cpu().numpy()

    def look_up(self, actions: Longs, queries: Any, *, touch: bool) -> Neighbours:
        """The neighbours of each query in the table of its own action; keys and values stay on the device."""
        queries, wanted = self.as_keys(queries), self.reading.neighbours
        slots = torch.zeros(len(queries), wanted, dtype=torch.long, device=self.device)
        for action in np.unique(actions):
            mine = torch.from_numpy(np.flatnonzero(actions == action)).to(self.device)
            slots[mine] = self.search(queries[mine], int(action), wanted)[0][:, 0]
        tables = torch.from_numpy(actions).to(self.device)[:, None]
        found = np.minimum(self.tables.size, wanted)[actions]
        near = Neighbours(slots.int().cpu().numpy(), found, self._keys[tables, slots], self._values[tables, slots])
        if touch and self.touches:
            self.touch_slots(actions, near.slots, found, rows=1)
        return near

    def write(self, action: int, keys: Any, values: Floats, states: States) -> None:
        """Write states in order of time, one at a time."""
        if self.rules is None:
            raise InvalidInputError("a strategy in plain Python needs a memory on the CPU; use device='cpu'")
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
        self._values[action, slot] = float(tables.values[action, slot])
        if full:
            tables.writes[action] += 1

    def look(self, action: int, key: Any, value: float, match: int, full: bool) -> Write:
        """What the strategy may know of a state before it is written."""
        tables, rules = self.tables, self.rules
        assert rules is not None
        size = int(tables.size[action])
        nearest, distance, nearest_value, nearest_rank, estimate = -1, np.nan, np.nan, np.nan, np.nan
        if rules.needs_estimate and match >= 0:
            estimate = float(tables.values[action, match])
        elif rules.needs_estimate:
            found = min(self.reading.neighbours, size)
            slots, distances = self.find_neighbours(action, key[None], max(found, 1))
            estimate = float(weighted_mean(tables.values[action], distances[0], slots[0], found, self.reading))
        if rules.needs_nearest and full:
            slots, distances = self.search(key[None], action, 1)
            nearest, distance = int(slots), float(distances)
            nearest_value, nearest_rank = float(tables.values[action, nearest]), float(tables.ranks[action, nearest])
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
            nearest,
            distance,
            nearest_value,
            nearest_rank,
            lowest,
            lowest_rank,
        )

    def adjust(self, actions: Longs, slots: Longs, keys: Floats, values: Floats) -> None:
        """Give entries new keys and values."""
        where = torch.from_numpy(actions).to(self.device), torch.from_numpy(slots).to(self.device)
        self._keys[where] = self.as_keys(keys)
        self._values[where] = self.as_keys(values)
        adjust(self.tables, actions, slots, np.zeros((len(values), 0), np.float32), values, self.ranked_by_value)

    def fill(self, tables: Tables, action: int, keys: Floats) -> None:
        """Put one table's keys beside fresh tables, and index and order its entries."""
        self._fresh_keys[action, : len(keys)] = self.as_keys(keys)
        super().fill(tables, action, np.zeros((len(keys), 0), np.float32))

    def take(self, tables: Tables, numbers: dict[str, Doubles]) -> None:
        """Become what fresh tables hold."""
        super().take(tables, numbers)
        self._keys = self._fresh_keys
        self._values = self.as_keys(tables.values)
