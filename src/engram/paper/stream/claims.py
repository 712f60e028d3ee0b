"""The claims about the 2-D stream, and about the cost of DkM."""

from dataclasses import replace
from functools import partial
from math import inf

from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.quantity import Quantity
from engram.lab.statistics import mean_interval
from engram.lab.verdicts import Claim, Findings, Statement
from engram.typing import Array

DISTANCES, LENGTHS, COSTS = TABLES = ("stream/distances", "stream/lengths", "stream/costs")  # of the evidence
NEGLIGIBLE = 0.1  # of the time of a lookup
LEAST_DIMENSIONS = 4  # of the keys of an agent: CartPole's
RIVALS = {"kmeans": "kM", "lru": "LRU"}


def keeps(evidence: Evidence) -> Findings:
    """Claim 14: kM keeps the first distribution, LRU the second, DkM both."""
    distances, other_lengths = (evidence.tables.get(name) for name in (DISTANCES, LENGTHS))
    if distances is None or other_lengths is None:
        return Findings((), ["the stream was not run"])
    to = _final(distances)
    lengths = other_lengths["points"].unique().sort().to_list()
    among = 2 + len(RIVALS) * len(lengths)
    nearer = [
        _nearer("kM", "the first half than to the second", to["kmeans", "to_second"] - to["kmeans", "to_first"], among),
        _nearer("LRU", "the second half than to the first", to["lru", "to_first"] - to["lru", "to_second"], among),
    ]
    by_length = []
    for points in lengths:
        to = _final(other_lengths.filter(pl.col("points") == points))
        by_length.append(
            [
                _nearer("DkM", f"all {points:,} points than {name}", to[rival, "to_all"] - to["dkm", "to_all"], among)
                for rival, name in RIVALS.items()
            ]
        )
    everywhere = all(any(each.refuted for each in group) for group in by_length)
    mixed = [replace(each, refuted=each.refuted and everywhere) for group in by_length for each in group]
    return Findings([*nearer, *mixed])


def _nearer(method: str, what: str, gaps: Array, among: int) -> Statement:
    """That a method is nearer to one thing than to another, given by how much, one number per seed."""
    first, _, other = what.partition(" than ")
    return Statement.measured(
        Quantity(f"{method} is", f"nearer to {what}", f"further from {first} than {other}"),
        partial(mean_interval, gaps),
        {"stream": len(gaps)},
        among=among,
    )


def _final(distances: pl.DataFrame) -> dict[tuple[str, str], Array]:
    """By method and part of the data, the distances at the end of the stream, one per seed."""
    final = distances.filter(pl.col("fraction") == 1).sort("seed")
    return {
        (str(method), half): part[half].to_numpy()
        for (method,), part in final.group_by("method")
        for half in ("to_first", "to_second", "to_all")
    }


def negligible_cost(evidence: Evidence) -> Findings:
    """Claim 17: a write of DkM costs little more than one of kM."""
    costs = evidence.tables.get(COSTS)
    if costs is None or "dimensions" not in costs.columns:
        return Findings((), [f"costs were not measured with keys of {LEAST_DIMENSIONS} dimensions or more"])
    measured = costs.filter(pl.col("dimensions") >= LEAST_DIMENSIONS).sort("capacity", "dimensions")
    groups = measured.partition_by("capacity", "dimensions", as_dict=True, maintain_order=True)
    statements = []
    for (capacity, dimensions), part in groups.items():
        extra = ((part["dkm_us"] - part["kmeans_us"]) / part["lookup_us"]).to_numpy()
        statements.append(
            Statement.measured(
                Quantity(
                    "a write of DkM takes",
                    "longer than one of kM",
                    "less than one of kM",
                    f"{capacity:,} entries, {dimensions} dimensions",
                    unit="of a lookup",
                    percent=True,
                ),
                partial(mean_interval, extra),
                {"stream": len(extra)},
                aim=(-inf, NEGLIGIBLE),
                among=len(groups),
            )
        )
    return Findings(statements, () if statements else ["no costs were measured"])


CLAIMS = (
    Claim(
        14,
        "The 2-D stream: kM keeps the first distribution, LRU the second, DkM both and is closest to the whole data.",
        "“… kM … favours the first data distribution …, while [LRU] favours the second … DkM is able to retain old "
        "states, while biasing clusters towards the new distribution”; “DkM shows the best approximation to the real "
        "dataset.” (Appendix A)",
        "By energy distance: kM is nearer to the first half of the stream than to the second, LRU the other way round, "
        "and DkM is nearer to the whole than kM and than LRU, at every length of the stream that is measured. It does "
        "not hold if kM or LRU is the other way round, or if DkM is further from the whole at every length.",
        ("stream",),
        keeps,
        least_seeds=5,
        note="The paper does not say how long its stream is. Where the length decides, the claim is undecided.",
        printed=False,
    ),
    Claim(
        17,
        "DkM's extra cost is negligible beside the lookup.",
        "“… DkM has an additional complexity of O(N), which is negligible compared to the original lookup.” "
        "(Section 3.2)",
        f"At each size and for each length of keys from {LEAST_DIMENSIONS} on that is measured, with the eleven "
        f"neighbours of the agents, a write of DkM takes longer than one of kM by less than {NEGLIGIBLE:.0%} of a "
        "lookup.",
        ("stream",),
        negligible_cost,
        least_seeds=5,
        unit="round",
        printed=False,
    ),
)
