"""The search on a device in plain PyTorch; `fused.py` does the same in three Triton kernels, and is tested against it.

A search has R rows, each of them one query in one table. Its plan says which: where the rows of each table begin
[tables + 1], then the numbers of these rows [R], and then their queries [R], all table by table. What is found comes
back in one array of codes, which have the bits of d² in their high half and the slot in their low half: a float32 that
is not negative has the order of its bits, so codes are ordered by distance, and ties by the slot.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.devices import torch
from engram.memory.arguments import KEY_LIMIT
from engram.typing import Floats, Ints, Longs


class Found(NamedTuple):
    """The nearest entries of each row, nearest first, ties to the lowest slot; d² is infinite beyond the entries."""

    slots: Ints  # [R, wanted]
    distances: Floats  # [R, wanted], d²
    usable: bool  # every query is within the limit of keys; otherwise the rest is meaningless


@lru_cache(maxsize=64)
def plan_all(tables: int, count: int) -> Ints:
    """The plan of a search for `count` queries in every table; row b · tables + a is query b in table a."""
    queries = np.tile(np.arange(count), tables)
    rows = queries * tables + np.repeat(np.arange(tables), count)
    return np.concatenate([np.arange(tables + 1) * count, rows, queries]).astype(np.int32)


def plan_each(tables: int, actions: Longs) -> Ints:
    """The plan of a search for each query in the table of its own action; row b is query b."""
    plan = np.empty(tables + 1 + 2 * len(actions), np.int32)
    put_plan(actions, plan)
    return plan


@compiled
def put_plan(actions: Longs, plan: Ints) -> None:
    """Write that plan to an array."""
    count, tables = len(actions), len(plan) - 1 - 2 * len(actions)
    plan[: tables + 1] = 0
    for action in actions:
        plan[action + 1] += 1
    for table in range(tables):
        plan[table + 1] += plan[table]
    place = plan[:tables].copy()
    for b in range(count):
        at = place[actions[b]]
        plan[tables + 1 + at] = plan[tables + 1 + count + at] = b
        place[actions[b]] += 1


def unpack(codes: Longs) -> Found:
    """Sort and decode codes [R, wanted + 1], the last of which is 1 for a usable query."""
    slots = np.empty((len(codes), codes.shape[1] - 1), np.int32)
    distances = np.empty(slots.shape, np.float32)
    return Found(slots, distances, bool(decode(codes, slots, distances.view(np.int32))))


@compiled
def decode(codes: Longs, slots: Ints, distances: Ints) -> bool:
    """Sort and decode codes into slots and the bits of distances; whether every query was usable."""
    codes = borrowed(codes)
    usable, wanted = True, slots.shape[1]
    for row in range(len(codes)):
        near = np.sort(codes[row, :wanted])
        usable &= codes[row, wanted] != 0
        for i in range(wanted):
            slots[row, i], distances[row, i] = np.int32(near[i]), np.int32(near[i] >> 32)
    return usable


class Search:
    """Finds the nearest entries of queries.

    Args:
        keys: [tables, capacity, key_size] on the device. Their values may change, the tensor may not.
    """

    def __init__(self, keys: Any) -> None:
        self.keys = keys
        self.tables, self.capacity, self.key_size = (int(size) for size in keys.shape)
        self.sizes = torch.zeros(self.tables, dtype=torch.int32, device=keys.device)
        self.row_numbers = self.capacity * self.key_size  # held at a time for each row
        self._slots = torch.arange(self.capacity, device=keys.device)
        self._noted = bytes(8 * self.tables)  # sizes that the device knows

    def note_sizes(self, sizes: Longs) -> None:
        """Send the sizes of the tables to the device, if they have changed."""
        if sizes.tobytes() != self._noted:
            self._noted = sizes.tobytes()
            self.sizes.copy_(torch.from_numpy(sizes.astype(np.int32)))

    def work(self, queries: int, rows: int, wanted: int) -> Any | None:
        """Room for a search of this shape that can be recorded; None: this one asks the host in between."""
        return None

    def rows_of(self, plan: Ints) -> int:
        """The number of rows R of a plan."""
        return (len(plan) - self.tables - 1) // 2

    def square_distances(self, queries: Any, plan: Ints) -> Any:
        """d² of every row by direct differences, [R, capacity], infinite beyond a table's entries."""
        rows, of = np.split(plan[self.tables + 1 :].astype(np.int64), 2)
        queries = torch.as_tensor(queries, device=self.keys.device)
        d2 = torch.empty(len(rows), self.capacity, device=self.keys.device)
        for table in range(self.tables):
            mine = slice(plan[table], plan[table + 1])
            if mine.start < mine.stop:
                near = (self.keys[table] - queries[of[mine]][:, None]).square_().sum(-1)
                d2[rows[mine]] = near.masked_fill_(self._slots >= self.sizes[table], torch.inf)
        return d2

    def nearest(self, queries: Any, plan: Ints, wanted: int) -> Longs:
        """Codes of the nearest entries of every row, in any order, and 1 for a usable query: [R, wanted + 1]."""
        queries = torch.as_tensor(queries, device=self.keys.device)
        bits = self.square_distances(queries, plan).view(torch.int32).long()
        near = ((bits << 32) | self._slots).topk(wanted, largest=False).values
        rows, of = np.split(plan[self.tables + 1 :].astype(np.int64), 2)
        usable = torch.empty(len(rows), dtype=torch.int64, device=self.keys.device)
        usable[rows] = (queries.abs() <= KEY_LIMIT).all(1).long()[of]
        codes: Longs = torch.cat([near, usable[:, None]], 1).cpu().numpy()
        return codes
