"""The search on a GPU in three kernels, written in Triton; imported only where there is one.

1. Distances: a program reads one tile of keys once, and answers every row of the plan that wants its table. It leaves
   the d² of the tile, and their minimum.
2. Tiles: of every row, the tiles with the smallest minima. The nearest k entries lie in the k nearest tiles: each of
   these has one entry at least as near as the nearest of any other tile.
3. Entries: of every row, the nearest in these tiles.

Choosing the smallest needs no sort. Their limit is found bit by bit, by counting what lies below; what equals the limit
is taken from the front, so that ties go to the lowest slot. The three are one launch: for shapes that come again they
are recorded as a CUDA graph.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import triton
import triton.language as tl

from engram.devices import torch
from engram.garbage import uncollected
from engram.memory.arguments import KEY_LIMIT
from engram.memory.device_search import Search
from engram.typing import Ints, Longs

TILE_NUMBERS = 4096  # in a tile of keys: 32 for each of a program's 128 threads; twice that for very large tables
MOST_ENTRIES = 128  # in a tile
WIDEST = 1024  # dimensions
LARGEST = 32_768  # numbers from which one program selects
KEPT_DISTANCES = 2**23  # for shapes up to this size, buffers are kept and graphs recorded
KEPT_SHAPES = 16
OFTEN = 3  # searches of one shape before a graph is recorded
NEVER = tl.constexpr(0x7FFFFFFF)  # above the bits of every float
LIMIT = tl.constexpr(KEY_LIMIT)


on_device_of: Any = torch.cuda.device_of


def kernel(function: Callable[..., Any]) -> Any:
    """Compile with Triton, whose functions take no annotations but its own."""
    return triton.jit(function)


@kernel
def distances_kernel(
    keys,  # [tables, capacity, key_size]
    sizes,  # [tables]
    queries,  # [B, key_size]
    plan,  # see device_search.py
    d2,  # [R, capacity], out
    minima,  # [R, tiles], out
    codes,  # [R, wanted + 1], out: 1 at the end for a usable query
    tables,
    capacity,
    tiles,
    rows,
    wanted,
    key_size: tl.constexpr,
    width: tl.constexpr,  # key_size, rounded up
    tile_size: tl.constexpr,
):
    """d² of the entries of one tile for every row of its table."""
    table = tl.program_id(0) // tiles
    tile = tl.program_id(0) % tiles
    begin = tl.load(plan + table)
    end = tl.load(plan + table + 1)
    slots = tile * tile_size + tl.arange(0, tile_size)
    dims = tl.arange(0, width)
    there = slots < tl.load(sizes + table)
    wide = dims < key_size
    if begin < end:
        entries = table.to(tl.int64) * capacity + slots
        block = tl.load(
            keys + entries[:, None] * key_size + dims[None, :], mask=there[:, None] & wide[None, :], other=0.0
        )
        for i in range(begin, end):
            row = tl.load(plan + tables + 1 + i).to(tl.int64)
            query = tl.load(plan + tables + 1 + rows + i).to(tl.int64)
            key = tl.load(queries + query * key_size + dims, mask=wide, other=0.0)
            difference = block - key[None, :]
            near = tl.where(there, tl.sum(difference * difference, axis=1), float("inf"))
            tl.store(d2 + row * capacity + slots, near, mask=slots < capacity)
            tl.store(minima + row * tiles + tile, tl.min(near, axis=0))
            if tile == 0:
                usable = tl.sum((tl.abs(key) <= LIMIT).to(tl.int32)) == width
                tl.store(codes + row * (wanted + 1) + wanted, usable.to(tl.int64))


@kernel
def smallest(bits, wanted):
    """Which numbers are among the `wanted` smallest, ties to the first, and the position of each among those."""
    limit = 0
    for i in range(31):  # the largest number below which there are fewer than wanted
        trial = limit + (1 << (30 - i))
        fewer = tl.sum((bits < trial).to(tl.int32)) < wanted
        limit = tl.where(fewer, trial, limit)
    below = bits < limit
    equal = bits == limit
    room = wanted - tl.sum(below.to(tl.int32))
    both = tl.cumsum(below.to(tl.int32) + (equal.to(tl.int32) << 16))  # two counts in one: both are less than 2¹⁶
    equals = (both >> 16) & 0xFFFF
    taken = below | (equal & (equals <= room))
    place = (both & 0xFFFF) + tl.minimum(equals, room) - 1
    return taken & (place < wanted), place


@kernel
def tiles_kernel(
    minima,  # [R, tiles], bits
    near_tiles,  # [R, wanted], out, in order of slots
    tiles,
    wanted,
    block_size: tl.constexpr,
):
    """The tiles that hold the nearest entries of a row."""
    row = tl.program_id(0).to(tl.int64)
    tile = tl.arange(0, block_size)
    bits = tl.load(minima + row * tiles + tile, mask=tile < tiles, other=NEVER)
    taken, place = smallest(bits, wanted)
    tl.store(near_tiles + row * wanted + place, tile, mask=taken)


@kernel
def entries_kernel(
    d2,  # [R, capacity], bits
    near_tiles,  # [R, wanted_tiles]
    codes,  # [R, wanted + 1], out
    capacity,
    wanted_tiles,
    wanted,
    tile_size: tl.constexpr,
    block_size: tl.constexpr,
):
    """The nearest entries of a row, from its nearest tiles."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, block_size)
    inside = i < wanted_tiles * tile_size
    slots = tl.load(near_tiles + row * wanted_tiles + i // tile_size, mask=inside, other=0) * tile_size + i % tile_size
    bits = tl.load(d2 + row * capacity + slots, mask=inside & (slots < capacity), other=NEVER)
    taken, place = smallest(bits, wanted)
    slots = tl.minimum(slots, capacity - 1)  # beyond it only where a query is not finite
    tl.store(codes + row * (wanted + 1) + place, (bits.to(tl.int64) << 32) | slots, mask=taken)


def block_of(number: int) -> int:
    """The block size that Triton needs for so many numbers: the next power of 2, at least 16."""
    return max(16, 1 << (number - 1).bit_length())


def tile_entries(key_size: int, capacity: int) -> int:
    """The number of entries in a tile."""
    entries = TILE_NUMBERS // block_of(key_size)
    return min(MOST_ENTRIES, entries if capacity <= LARGEST * entries else 2 * entries)


def warps(block: int) -> int:
    """The number of warps for a program that selects from a block."""
    return min(max(block // 512, 4), 16)


class Work:
    """The buffers of one shape of search, and its recorded CUDA graph."""

    def __init__(self, search: Search, queries: int, rows: int, wanted: int) -> None:
        device = search.keys.device
        self.search, self.rows, self.wanted = search, rows, wanted
        self.tile = tile_entries(search.key_size, search.capacity)
        self.tiles = -(-search.capacity // self.tile)
        self.wanted_tiles = min(wanted, self.tiles)
        self.queries = torch.empty(queries, search.key_size, device=device)
        self.plan = torch.empty(search.tables + 1 + 2 * rows, dtype=torch.int32, device=device)
        self.d2 = torch.empty(rows, search.capacity, device=device)
        self.minima = torch.empty(rows, self.tiles, device=device)
        self.near_tiles = torch.zeros(rows, self.wanted_tiles, dtype=torch.int32, device=device)
        self.codes = torch.empty(rows, wanted + 1, dtype=torch.int64, device=device)
        self.back = torch.empty_like(self.codes, device="cpu", pin_memory=device.type == "cuda")
        self.planned: Ints | None = None
        self.graph: Any = None
        self.uses = 0

    def take(self, queries: Any, plan: Ints) -> None:
        """Copy queries and plan to the device; a plan that is there already is not sent again."""
        self.queries.copy_(torch.as_tensor(queries))
        if self.planned is None or not np.array_equal(plan, self.planned):
            self.planned = plan.copy()
            self.plan.copy_(torch.from_numpy(self.planned))

    def measure(self) -> None:
        """Launch the kernel that computes distances."""
        search = self.search
        distances_kernel[(search.tables * self.tiles,)](
            search.keys,
            search.sizes,
            self.queries,
            self.plan,
            self.d2,
            self.minima,
            self.codes,
            search.tables,
            search.capacity,
            self.tiles,
            self.rows,
            self.wanted,
            key_size=search.key_size,
            width=block_of(search.key_size),
            tile_size=self.tile,
        )

    def launch(self) -> None:
        """Launch all three kernels."""
        self.measure()
        block = block_of(self.tiles)
        tiles_kernel[(self.rows,)](
            self.minima.view(torch.int32),
            self.near_tiles,
            self.tiles,
            self.wanted_tiles,
            block_size=block,
            num_warps=warps(block),
        )
        block = block_of(self.wanted_tiles * self.tile)
        entries_kernel[(self.rows,)](
            self.d2.view(torch.int32),
            self.near_tiles,
            self.codes,
            self.search.capacity,
            self.wanted_tiles,
            self.wanted,
            tile_size=self.tile,
            block_size=block,
            num_warps=warps(block),
        )

    def search_for(self, queries: Any, plan: Any, codes: Any) -> None:
        """Search by a plan on the device as a part of other work; codes go to a tensor [R, wanted + 1]."""
        self.queries, self.plan, self.codes = queries.contiguous(), plan, codes
        self.launch()

    def run(self, *, record: bool) -> Longs:
        """Search and return the codes; with `record`, as a CUDA graph that is recorded after a few searches."""
        self.uses += 1
        if record and self.graph is None and self.uses > OFTEN:  # by now all kernels are compiled
            self.graph = torch.cuda.CUDAGraph()
            with uncollected(), torch.cuda.graph(self.graph, capture_error_mode="thread_local"):
                self.launch()
        if self.graph is None:
            self.launch()
        else:
            self.graph.replay()
        self.back.copy_(self.codes, non_blocking=True)
        if self.codes.is_cuda:
            torch.cuda.current_stream().synchronize()
        codes: Longs = self.back.numpy().copy()
        return codes


class FusedSearch(Search):
    """Finds the nearest entries of queries with Triton kernels."""

    graphs = True  # record shapes that come again

    def __init__(self, keys: Any) -> None:
        super().__init__(keys)
        self.row_numbers = self.capacity
        self._work: dict[tuple[int, int, int], Work] = {}

    @staticmethod
    def fits(capacity: int, key_size: int, wanted: int) -> bool:
        """Whether the kernels can search this shape: one program holds a tile of keys, and all that it selects from."""
        if key_size > WIDEST:
            return False
        tile = tile_entries(key_size, capacity)
        return capacity <= LARGEST * tile and wanted * tile <= LARGEST

    def work(self, queries: int, rows: int, wanted: int) -> Work:
        """Room for a search of this shape that can be recorded."""
        return Work(self, queries, rows, wanted)

    def square_distances(self, queries: Any, plan: Ints) -> Any:
        """d² of every row by direct differences, [R, capacity], infinite beyond a table's entries."""
        with on_device_of(self.keys):
            work = Work(self, len(queries), self.rows_of(plan), 1)
            work.take(queries, plan)
            work.measure()
        return work.d2

    def nearest(self, queries: Any, plan: Ints, wanted: int) -> Longs:
        """Codes of the nearest entries of every row, in any order, and 1 for a usable query: [R, wanted + 1]."""
        shape = len(queries), self.rows_of(plan), wanted
        with on_device_of(self.keys):
            work = self._work.pop(shape, None) or Work(self, *shape)
            kept = shape[1] * self.capacity <= KEPT_DISTANCES
            if kept:
                self._work[shape] = work  # the last of them
                if len(self._work) > KEPT_SHAPES:
                    del self._work[next(iter(self._work))]
            work.take(queries, plan)
            return work.run(record=kept and self.graphs and self.keys.is_cuda)
