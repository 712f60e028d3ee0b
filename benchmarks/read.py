"""Reading all tables in one call against FAISS: one flat search per table, on one core, in the same run.

    python benchmarks/read.py [--quick] [--seed 0] [--setting ACTIONS,N,DIMS,K ...]

Keys and queries are standard normal. FAISS only finds the neighbours; Engram also averages the values.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import NamedTuple

import faiss
import numpy as np
from rich.console import Console
from rich.table import Table

from engram import EpisodicMemory
from engram.typing import Floats, Longs

DELTA = 1e-3


class Setting(NamedTuple):
    actions: int
    entries: int  # N
    dims: int
    neighbours: int


class Row(NamedTuple):
    setting: Setting
    faiss_us: float  # per query, the median of all repeats
    engram_us: float
    faiss_best_us: float
    engram_best_us: float
    asked: float | None  # how many times as fast as FAISS it should be


ASKED: dict[Setting, float | None] = {
    Setting(2, 500, 4, 11): 3,
    Setting(3, 5000, 6, 11): 2,
    Setting(6, 10_000, 128, 11): 1,
    Setting(6, 100_000, 128, 50): None,
}


def measure(setting: Setting, *, seed: int = 0, seconds: float = 4.0) -> Row:
    """Alternate between the two, a block of queries each, until the time is up (three times at least)."""
    rng = np.random.default_rng(seed)
    actions, entries, dims, k = setting
    memory = EpisodicMemory(actions=actions, key_size=dims, capacity=entries, neighbours=k, delta=DELTA)
    values = rng.standard_normal((actions, entries), np.float32)
    indexes = [faiss.IndexFlatL2(dims) for _ in range(actions)]
    for action, index in enumerate(indexes):
        index.add(keys := rng.standard_normal((entries, dims), np.float32))
        memory.write(action, keys, values[action])
    queries = rng.standard_normal((64, 1, dims), np.float32)

    def search_faiss(query: Floats) -> list[tuple[Floats, Longs]]:
        return [index.search(query, k) for index in indexes]

    for query in queries[:4]:
        for action, (distances, slots) in enumerate(search_faiss(query)):
            expected = np.average(values[action, slots[0]], weights=1 / (distances[0] + DELTA))
            np.testing.assert_allclose(memory.read(query)[0, action], expected, rtol=0, atol=1e-4)
    block = max(1, min(len(queries), int(2e-3 / time_per_query(search_faiss, queries[:1]))))
    rounds: list[tuple[float, float]] = []
    end = perf_counter() + seconds
    while len(rounds) < 3 or perf_counter() < end:
        some = queries[rng.integers(len(queries), size=block)]
        rounds.append((time_per_query(search_faiss, some), time_per_query(memory.read, some)))
    theirs, ours = np.array(rounds).T * 1e6
    return Row(setting, median(theirs), median(ours), min(theirs), min(ours), ASKED.get(setting))


def time_per_query(search: Callable[[Floats], object], queries: Floats) -> float:
    start = perf_counter()
    for query in queries:
        search(query)
    return (perf_counter() - start) / len(queries)


def main(*, seed: int = 0, quick: bool = False, settings: list[Setting] | None = None) -> list[Row]:
    """Measure, print and return one row per setting."""
    faiss.omp_set_num_threads(1)  # also where FAISS was imported before
    table = Table(title="Reading all tables, one query, one core: median (best)")
    for column in ("actions, N, d, k", "FAISS µs", "Engram µs", "ratio", "asked"):
        table.add_column(column, justify="right")
    rows = [measure(setting, seed=seed, seconds=0.5 if quick else 4.0) for setting in settings or ASKED]
    for row in rows:
        table.add_row(
            ", ".join(map(str, row.setting)),
            f"{row.faiss_us:.1f} ({row.faiss_best_us:.1f})",
            f"{row.engram_us:.1f} ({row.engram_best_us:.1f})",
            f"{row.faiss_us / row.engram_us:.2f}x",
            f"{row.asked:g}x" if row.asked else "none",
        )
    Console().print(table)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--setting", action="append", metavar="ACTIONS,N,DIMS,K", dest="settings")
    given = parser.parse_args()
    sizes = [Setting(*map(int, text.split(","))) for text in given.settings or []]
    main(seed=given.seed, quick=given.quick, settings=sizes)
