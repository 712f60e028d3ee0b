"""A search of one shape as a part of larger work on a device, which can be recorded as one graph."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from engram.devices import torch
from engram.memory.device import DeviceStore
from engram.memory.device_search import Found, plan_all, put_plan, unpack
from engram.recording import Exchange, Field
from engram.typing import Longs

INFINITE = 0x7F800000 << 32  # codes from here on are those of no entry: d² is infinite
SLOT = 0xFFFFFFFF  # the half of a code that is the slot


@cache
def fused_slopes(wanted: int, key_size: int) -> Callable[..., tuple[Any, Any]] | None:
    """The kernel that goes from codes to slopes, if there is one for so many neighbours of this size."""
    if find_spec("triton") is None:
        return None
    from engram.memory.fused_slopes import fits, slopes  # noqa: PLC0415 (needs Triton)

    return slopes if fits(wanted, key_size) else None


class Near(NamedTuple):
    """The nearest entries of each query in its own table, in any order, as tensors on the device."""

    keys: Any  # [B, k, key_size]
    values: Any  # [B, k]
    there: Any  # [B, k], false where the table has fewer than k
    usable: Any  # whether every query could be searched


class Probe:
    """Finds the nearest entries of a fixed number of queries.

    `aim` comes before the work, on the host. The work calls `find`, after it has sent an exchange that has `fields`.
    When that is done, `found` says what came back.
    """

    def __init__(self, store: DeviceStore, count: int, rows: int) -> None:
        self._store, self._tables, self._wanted = store, len(store.tables.size), store.reading.neighbours
        self._work = store.work(count, rows)
        self.recordable = self._work is not None
        self._plan: Field = ((self._tables + 1 + 2 * rows,), np.int32)
        self._back = Exchange(store.device, {"codes": ((rows, self._wanted + 1), np.int64)})

    def _search(self, queries: Any, plan: Any, actions: Longs | None) -> Any:
        """Search for queries on the device; the codes there, [R, k + 1]."""
        codes = self._back.there["codes"]
        if self._work is None:
            codes.copy_(torch.from_numpy(self._store.find_codes(queries, actions, self._wanted)))
        else:
            self._work.search_for(queries, plan, codes)
        self._back.fetch()
        return codes

    def usable(self) -> bool:
        """Whether every query could be searched, without which nothing was found."""
        return bool(self._back.here["codes"][:, -1].all())

    def found(self) -> Found:
        """What was found, nearest first."""
        return unpack(self._back.here["codes"])


class ProbeAll(Probe):
    """Every query in every table, as acting needs it: row b · tables + a is query b in table a."""

    def __init__(self, store: DeviceStore, count: int) -> None:
        super().__init__(store, count, count * len(store.tables.size))
        self._planned = torch.from_numpy(plan_all(self._tables, count)).to(store.device)

    def aim(self) -> None:
        """Bring the device up to date."""
        self._store.note_sizes()

    def find(self, queries: Any) -> None:
        """Search for queries [B, key_size] on the device."""
        self._search(queries, self._planned, None)


class ProbeEach(Probe):
    """Each query in the table of its own action, as learning needs it."""

    def __init__(self, store: DeviceStore, count: int) -> None:
        super().__init__(store, count, count)
        self.fields: dict[str, Field] = {"plan": self._plan, "first": ((count, 1), np.int64)}
        self._values = store.values()
        self._actions = np.zeros(count, np.int64)

    def aim(self, exchange: Exchange, actions: Longs) -> None:
        """Say in which tables to search, [B], and bring the device up to date."""
        self._actions = actions
        put_plan(actions, exchange.here["plan"])
        exchange.here["first"][:, 0] = actions * self._store.capacity  # entry of the table
        self._store.note_sizes()
        self._store.values()

    @property
    def has_slopes(self) -> bool:
        """Whether `slopes` can be asked: where kernels of our own search, and a query's neighbours fit into one."""
        return self.recordable and fused_slopes(self._wanted, self._store.key_size) is not None

    def slopes(self, exchange: Exchange, queries: Any, targets: Sequence[Any], delta: float) -> tuple[Any, Any]:
        """Search for queries h [B, key_size]; ∂L/∂h, NaN where one could not be searched, and the parts of L, [B].

        `targets` are returns, factors and `empty`, each [B, 1]: L is half the sum of factor · (Q − return)², with Q
        from weights 1/(d² + δ), and 0 where `empty` is 1.
        """
        fused: Any = fused_slopes(self._wanted, self._store.key_size)
        codes, keys = self._search(queries, exchange.there["plan"], self._actions), self._store.all_keys
        by_query, losses = fused(queries, codes, exchange.there["first"], keys, self._values, targets, delta)
        return by_query, losses

    def find(self, exchange: Exchange, queries: Any) -> Near:
        """Search for queries [B, key_size] on the device; keys and values of what is near."""
        codes = self._search(queries, exchange.there["plan"], self._actions)
        near = codes[:, :-1]
        entries = (near & SLOT).add_(exchange.there["first"])
        keys = self._store.all_keys.index_select(0, entries.view(-1)).view(*entries.shape, -1)
        values = self._values.index_select(0, entries.view(-1)).view(entries.shape)
        return Near(keys, values, near < INFINITE, codes[:, -1].all())

    def touch(self) -> None:
        """Tell the strategy that what was found was used."""
        near = self.found()
        found = np.minimum(self._store.tables.size, self._wanted)[self._actions]
        self._store.touch(self._actions, near.slots, near.distances, found, rows=1)

    def entries(self) -> Longs:
        """What was found as action × capacity + slot, −1 for nothing, in the order of `find`, [B, k]."""
        near = self._back.here["codes"][:, :-1]
        slots: Longs = near & SLOT
        return np.where(near < INFINITE, self._actions[:, None] * self._store.capacity + slots, -1)
