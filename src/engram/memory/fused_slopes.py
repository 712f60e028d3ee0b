"""From what a search has found to the slope of a loss, in one kernel, written in Triton; imported only on a GPU."""

from typing import Any

import triton.language as tl

from engram.devices import torch
from engram.memory.fused import LARGEST, block_of, kernel, warps

INFINITE = tl.constexpr(0x7F800000 << 32)  # codes from here on are those of no entry
SLOT = tl.constexpr(0xFFFFFFFF)


@kernel
def slopes_kernel(
    queries,  # [B, key_size]
    codes,  # [B, wanted + 1]
    first,  # [B], the first entry of each query's table
    keys,  # [entries, key_size]
    values,  # [entries]
    returns,  # [B]
    factors,  # [B]
    empty,  # [B]
    by_query,  # [B, key_size], out
    losses,  # [B], out
    wanted,
    delta,
    key_size: tl.constexpr,
    width: tl.constexpr,  # key_size, rounded up
    block_size: tl.constexpr,
):
    """One query: its estimate, the error, and the slope of the loss by the query; NaN if it could not be searched."""
    row = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, block_size)
    dims = tl.arange(0, width)
    wide = dims < key_size
    found = tl.load(codes + row * (wanted + 1) + i, mask=i < wanted, other=INFINITE)
    usable = tl.load(codes + row * (wanted + 1) + wanted) != 0
    there = found < INFINITE
    entries = tl.load(first + row) + (found & SLOT)
    near = tl.load(keys + entries[:, None] * key_size + dims[None, :], mask=there[:, None] & wide[None, :], other=0.0)
    value = tl.load(values + entries, mask=there, other=0.0)
    apart = tl.load(queries + row * key_size + dims, mask=wide, other=0.0)[None, :] - near
    weights = tl.where(there, 1 / (tl.sum(apart * apart, axis=1) + delta), 0.0)
    shares = weights / (tl.sum(weights, axis=0) + tl.load(empty + row))
    q = tl.sum(shares * value, axis=0)
    error = q - tl.load(returns + row)
    slope = error * tl.load(factors + row)
    by_distance = (q - value) * shares * weights * (2 * slope)
    by_this = tl.sum(by_distance[:, None] * apart, axis=0)
    tl.store(by_query + row * key_size + dims, tl.where(usable, by_this, float("nan")), mask=wide)
    tl.store(losses + row, error * slope / 2)


def fits(wanted: int, key_size: int) -> bool:
    """Whether one program can hold the neighbours of a query."""
    return block_of(wanted) * block_of(key_size) <= LARGEST


def slopes(queries: Any, codes: Any, first: Any, keys: Any, values: Any, targets: Any, delta: float) -> tuple[Any, Any]:
    """∂L/∂h [B, key_size] and the parts of L [B] for queries h, from the codes of what is near each.

    `targets` are returns, factors and `empty`, each [B, 1]: L is half the sum of factor · (Q − return)².
    """
    queries = queries.contiguous()  # as a network of one's own need not give them
    (count, key_size), wanted = queries.shape, codes.shape[1] - 1
    by_query, losses = torch.empty_like(queries), queries.new_empty(count)
    block, width = block_of(wanted), block_of(key_size)
    slopes_kernel[(count,)](
        queries,
        codes,
        first,
        keys,
        values,
        *targets,
        by_query,
        losses,
        wanted,
        delta,
        key_size=key_size,
        width=width,
        block_size=block,
        num_warps=warps(block * width // 4),
    )
    return by_query, losses
