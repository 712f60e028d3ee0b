"""Two exact searches of a memory on a GPU, side by side: `python benchmarks/gpu_search.py OUT.json`, on one.

`FusedSearch` is three Triton kernels that compute direct differences and keep the nearest. The other one is plain
PyTorch: a matrix product ranks all entries by ‖x‖² − 2 x·q, the first of them are candidates, and direct differences
decide among these; it also finds out whether rounding of the product could have left out a neighbour. Both are
recorded as CUDA graphs, and both are compared with direct differences over all entries.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpu import microseconds

from engram.memory.device_search import Search, plan_all, unpack
from engram.memory.fused import FusedSearch

SETTINGS = (
    (2, 500, 64, 11),
    (6, 10_000, 128, 11),
    (6, 100_000, 128, 11),
    (6, 100_000, 128, 50),
    (18, 100_000, 128, 50),
)
BATCHES = (1, 32)
MARGIN = 32  # candidates beyond the neighbours that are wanted
ROUNDS = 5


class CandidateSearch:
    """Product, top-k, and direct differences of the candidates, for a fixed number of queries in all tables."""

    def __init__(self, keys: torch.Tensor, count: int, wanted: int) -> None:
        self.keys, self.wanted = keys, wanted
        self.queries = torch.zeros(count, keys.shape[2], device=keys.device)
        self.norms = keys.square().sum(-1)  # a memory would keep them up to date with every write
        self.many = min(wanted + MARGIN, keys.shape[1])
        self.tables = torch.arange(keys.shape[0], device=keys.device)
        for _ in range(3):
            self.search()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.codes = self.search()

    def search(self) -> torch.Tensor:
        """Codes [tables, B, wanted + 1]: d² and slot of the nearest, and whether the search was certain."""
        keys, queries = self.keys, self.queries
        ranks = torch.baddbmm(self.norms[:, None], queries.expand(len(keys), -1, -1), keys.mT, alpha=-2)  # [A, B, N]
        rough, slots = ranks.topk(self.many, largest=False)
        found = keys[self.tables[:, None, None], slots]  # [A, B, m, d]
        d2 = (found - queries[:, None]).square().sum(-1)
        codes = ((d2.view(torch.int32).long() << 32) | slots).topk(self.wanted, largest=False).values
        norm = queries.square().sum(-1)
        rounding = (keys.shape[2] + 8) * 2.0**-23 * (self.norms.max().sqrt() + norm.sqrt()).square()
        last = rough.max(-1).values + norm  # nothing that was left out ranks below this
        kth = (codes.max(-1).values >> 32).int().view(torch.float32)
        certain = (kth + rounding < last).long()
        return torch.cat([codes, certain[..., None]], -1)

    def __call__(self, queries: torch.Tensor) -> Any:
        """Codes on the host, as `Search.nearest` gives them."""
        self.queries.copy_(queries)
        self.graph.replay()
        return self.codes.transpose(0, 1).reshape(-1, self.wanted + 1).cpu().numpy()


def measure(actions: int, capacity: int, dims: int, k: int, count: int) -> dict[str, Any]:
    """Times of both in turn, and whether they find what direct differences find."""
    rng = np.random.default_rng(0)
    keys = torch.from_numpy(rng.standard_normal((actions, capacity, dims), np.float32)).cuda()
    queries = torch.from_numpy(rng.standard_normal((count, dims), np.float32)).cuda()
    plan, sizes = plan_all(actions, count), np.full(actions, capacity, np.int64)
    fused, direct = FusedSearch(keys), Search(keys)
    for search in (fused, direct):
        search.note_sizes(sizes)
    candidates = CandidateSearch(keys, count, k)
    expected = unpack(direct.nearest(queries, plan, k)).slots if actions * capacity * count < 4e7 else None
    slots = {"fused": unpack(fused.nearest(queries, plan, k)).slots, "candidates": unpack(candidates(queries)).slots}
    times: dict[str, list[float]] = {"fused": [], "candidates": []}
    for _ in range(ROUNDS):
        times["fused"].append(microseconds(lambda: fused.nearest(queries, plan, k)))
        times["candidates"].append(microseconds(lambda: candidates(queries)))
    return {
        "setting": [actions, capacity, dims, k],
        "queries": count,
        **{f"{name}_us": round(float(np.median(each)), 1) for name, each in times.items()},
        "candidates_over_fused": round(float(np.median(times["candidates"]) / np.median(times["fused"])), 2),
        "reading_the_keys_once_us": round(microseconds(keys.sum), 1),
        "certain": bool(candidates(queries)[:, -1].all()),
        "same_as_direct": None if expected is None else {n: bool((s == expected).all()) for n, s in slots.items()},
        "same_as_each_other": bool((slots["fused"] == slots["candidates"]).all()),
    }


def main() -> None:
    out, rows = Path(sys.argv[1]), []
    for setting in SETTINGS:
        for count in BATCHES:
            rows.append(measure(*setting, count))
            print(json.dumps(rows[-1]))
            made = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}
            out.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
