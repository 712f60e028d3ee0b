"""The claims about the stream: evidence with which each holds, does not, and cannot be decided."""

import numpy as np
import polars as pl
import pytest

from engram.lab.evidence import Evidence
from engram.lab.verdicts import FAILS, FEW, HOLDS, OPEN, Word
from engram.paper.stream.claims import CLAIMS, COSTS, LENGTHS, TABLES


def stream(
    *,
    kmeans: float = 0.1,
    lru: float = 0.9,
    dkm: float = 0.2,
    noise: float = 0.01,
    extra: float = 0.01,
    seeds: int = 5,
    best_at: int = 0,
) -> Evidence:
    """A stream whose first half ends at 0 and whose second at 1: where on that line each method's points end.

    DkM ends at `dkm`, or does so at one length only, and beyond LRU at the other.
    """
    draw = np.random.default_rng(0)
    rows, costs = [], []
    for points in (500, 1_000):
        for seed in range(seeds):
            own = dkm if best_at in (0, points) else 0.99
            for method, place in (("kmeans", kmeans), ("lru", lru), ("dkm", own), ("batch", 0.5)):
                first, second, whole = (abs(place - at) + noise * draw.normal() for at in (0.0, 1.0, 0.5))
                rows.append((points, seed, method, 1.0, first, second, whole))
            rows.append((points, seed, "dkm", 0.5, 9.0, 9.0, 9.0))  # before the end: counts for nothing
    for capacity in (1_000, 10_000):
        for dimensions in (2, 4, 64):
            for number in range(seeds):
                lookup = capacity * dimensions / 100
                more = 1.0 if dimensions == 2 else extra  # fewer than any agent has: counts for nothing
                dearer = lookup * (1.2 + more + noise * draw.normal())
                costs.append((number, capacity, dimensions, 11, lookup, 1.2 * lookup, dearer))
    distances = pl.DataFrame(
        rows, ["points", "seed", "method", "fraction", "to_first", "to_second", "to_all"], orient="row"
    )
    longest = distances.filter(pl.col("points") == 1_000)
    columns = ["round", "capacity", "dimensions", "neighbours", "lookup_us", "kmeans_us", "dkm_us"]
    frame = pl.DataFrame(costs, columns, orient="row")
    return Evidence(tables=dict(zip(TABLES, (longest, distances, frame), strict=True)))


def in_two_dimensions() -> Evidence:
    """Costs as they were measured at first."""
    evidence = stream()
    costs = evidence.tables[COSTS].drop("dimensions", "neighbours")
    return Evidence(tables={**evidence.tables, COSTS: costs})


def without(name: str) -> Evidence:
    return Evidence(tables={key: table for key, table in stream().tables.items() if key != name})


@pytest.mark.parametrize(
    ("number", "evidence", "word"),
    [
        (14, stream(), HOLDS),
        (14, stream(kmeans=0.8), FAILS),  # nearer to the second half
        (14, stream(lru=0.4), FAILS),  # nearer to the first
        (14, stream(dkm=0.95), FAILS),  # further from the whole than LRU
        (14, stream(noise=0.7), OPEN),
        (14, stream(best_at=1_000), OPEN),  # at another length DkM is further away
        (14, stream(seeds=4), FEW),
        (14, without(LENGTHS), FEW),
        (17, stream(), HOLDS),
        (17, stream(extra=-0.3), HOLDS),
        (17, stream(extra=0.3), FAILS),
        (17, stream(extra=0.07, noise=0.06), OPEN),
        (17, stream(seeds=4), FEW),
        (17, without(COSTS), FEW),
        (17, in_two_dimensions(), FEW),
    ],
)
def test_verdicts_on_the_stream(number: int, evidence: Evidence, word: Word) -> None:
    claim = next(claim for claim in CLAIMS if claim.number == number)
    before = {name: table.clone() for name, table in evidence.tables.items()}
    verdict = claim.decide(evidence)
    assert verdict.word == word
    assert claim.decide(evidence) == verdict
    assert all(table.equals(before[name]) for name, table in evidence.tables.items())
