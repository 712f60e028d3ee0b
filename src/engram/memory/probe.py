"""A search of one shape as a part of larger work on a device, which can be recorded as one graph."""

from typing import Any, NamedTuple

import numpy as np

from engram.devices import torch
from engram.memory.device import DeviceStore
from engram.memory.device_search import Found, plan_all, plan_each, unpack
from engram.recording import Exchange
from engram.typing import Longs

INFINITE = 0x7F800000 << 32  # codes from here on are those of no entry: d² is infinite
SLOT = 0xFFFFFFFF  # the half of a code that is the slot


class Near(NamedTuple):
    """The nearest entries of each query in its own table, in any order, as tensors on the device."""

    keys: Any  # [B, k, key_size]
    values: Any  # [B, k]
    there: Any  # [B, k], 1 for an entry, 0 where the table has fewer than k
    usable: Any  # whether every query could be searched


class Probe:
    """Finds the nearest entries of a fixed number of queries. `find` is the work; around it, on the host:

    Before it, `aim` brings the device up to date. After it, once it is done, `found` says what came back.
    """

    def __init__(self, store: DeviceStore, count: int, rows: int) -> None:
        self._store, self._tables, self._wanted = store, len(store.tables.size), store.reading.neighbours
        self._work = store.work(count, rows)
        self.recordable = self._work is not None
        plan = {"plan": ((self._tables + 1 + 2 * rows,), np.int32), "actions": ((rows,), np.int64)}
        self._aimed = Exchange(store.device, plan)
        self._back = Exchange(store.device, {"codes": ((rows, self._wanted + 1), np.int64)})

    def _search(self, queries: Any, actions: Longs | None) -> Any:
        """Search for queries on the device; the codes there, [R, k + 1]."""
        codes = self._back.there["codes"]
        if self._work is None:
            codes.copy_(torch.from_numpy(self._store.find_codes(queries, actions, self._wanted)))
        else:
            self._work.search_for(queries, self._aimed.there["plan"], codes)
        self._back.fetch()
        return codes

    def found(self) -> Found:
        """What was found, nearest first."""
        return unpack(self._back.here["codes"])


class ProbeAll(Probe):
    """Every query in every table, as acting needs it: row b · tables + a is query b in table a."""

    def __init__(self, store: DeviceStore, count: int) -> None:
        super().__init__(store, count, count * len(store.tables.size))
        self._aimed.here["plan"][:] = plan_all(self._tables, count)
        self._aimed.send()

    def aim(self) -> None:
        """Bring the device up to date."""
        self._store.note_sizes()

    def find(self, queries: Any) -> None:
        """Search for queries [B, key_size] on the device."""
        self._search(queries, None)


class ProbeEach(Probe):
    """Each query in the table of its own action, as learning needs it."""

    def __init__(self, store: DeviceStore, count: int) -> None:
        super().__init__(store, count, count)
        self._values = store.values()

    def aim(self, actions: Longs) -> None:
        """Say in which tables to search, [B], and bring the device up to date."""
        self._aimed.here["plan"][:] = plan_each(self._tables, actions)
        self._aimed.here["actions"][:] = actions
        self._store.note_sizes()
        self._store.values()

    def find(self, queries: Any) -> Near:
        """Search for queries [B, key_size] on the device; keys and values of what is near."""
        self._aimed.send()
        codes = self._search(queries, self._aimed.here["actions"].copy())
        near, actions = codes[:, :-1], self._aimed.there["actions"]
        slots = (near & SLOT).clamp_(max=self._store.capacity - 1)  # a query that is not usable may give no slot
        entries = (slots + actions[:, None] * self._store.capacity).view(-1)
        keys = self._store.keys_at(entries).view(*slots.shape, -1)
        values = self._values.index_select(0, entries).view(slots.shape)
        return Near(keys, values, (near < INFINITE).to(keys.dtype), codes[:, -1].all())

    def touch(self) -> None:
        """Tell the strategy that what was found was used."""
        actions, near = self._aimed.here["actions"].copy(), self.found()
        found = np.minimum(self._store.tables.size, self._wanted)[actions]
        self._store.touch(actions, near.slots, near.distances, found, rows=1)

    def entries(self) -> Longs:
        """What was found as action × capacity + slot, −1 for nothing, in the order of `find`, [B, k]."""
        near = self._back.here["codes"][:, :-1]
        slots: Longs = near & SLOT
        return np.where(near < INFINITE, self._aimed.here["actions"][:, None] * self._store.capacity + slots, -1)
