"""The claims about the 2-D stream, and about the cost of DkM."""

from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.statistics import mean_interval
from engram.lab.verdicts import OPEN, Claim, Statement, Verdict, judge, share
from engram.typing import Array

DISTANCES, LENGTHS, COSTS = TABLES = ("stream/distances", "stream/lengths", "stream/costs")  # of the evidence
NEGLIGIBLE = 0.1  # of the time of a lookup


def keeps(evidence: Evidence) -> Verdict:
    """Claim 14: kM keeps the first distribution, LRU the second, DkM both."""
    distances, other_lengths = (evidence.tables.get(name) for name in (DISTANCES, LENGTHS))
    if distances is None or other_lengths is None:
        return Verdict(OPEN, "the stream was not run")
    to = _final(distances)
    gaps = {
        "kM nearer to the first distribution than to the second by": to["kmeans", "to_second"]
        - to["kmeans", "to_first"],
        "LRU nearer to the second than to the first by": to["lru", "to_first"] - to["lru", "to_second"],
    }
    lengths = other_lengths["points"].unique().sort().to_list()
    for points in lengths:
        to = _final(other_lengths.filter(pl.col("points") == points))
        for rival, name in (("kmeans", "kM"), ("lru", "LRU")):
            text = f"DkM nearer to all {points:,} points than {name} by"
            gaps[text] = to[rival, "to_all"] - to["dkm", "to_all"]
    return judge([Statement.positive(text, mean_interval(gap, level=share(len(gaps)))) for text, gap in gaps.items()])


def _final(distances: pl.DataFrame) -> dict[tuple[str, str], Array]:
    """By method and part of the data, the distances at the end of the stream, one per seed."""
    final = distances.filter(pl.col("fraction") == 1).sort("seed")
    return {
        (str(method), half): part[half].to_numpy()
        for (method,), part in final.group_by("method")
        for half in ("to_first", "to_second", "to_all")
    }


def negligible_cost(evidence: Evidence) -> Verdict:
    """Claim 17: a write of DkM costs little more than one of kM."""
    costs = evidence.tables.get(COSTS)
    if costs is None:
        return Verdict(OPEN, "the stream was not run")
    statements = []
    sizes = costs["capacity"].unique().sort().to_list()
    for size in sizes:
        part = costs.filter(pl.col("capacity") == size)
        extra = ((part["dkm_us"] - part["kmeans_us"]) / part["lookup_us"]).to_numpy()
        interval = mean_interval(extra, level=share(len(sizes)))
        text = f"at {size:,} entries a write of DkM takes longer than one of kM by, in times of a lookup"
        statements.append(
            Statement(text, interval, supported=interval.high < NEGLIGIBLE, refuted=interval.low > NEGLIGIBLE)
        )
    return judge(statements)


CLAIMS = (
    Claim(
        14,
        "The 2-D stream: kM keeps the first distribution, LRU the second, DkM both and is closest to the whole data.",
        "By energy distance, over seeds: kM is nearer to the first half of the stream than to the second, LRU the "
        "other way round, and DkM is nearer to the whole than kM and than LRU, at every length of the stream that is "
        "measured, as the paper does not say how long its stream is.",
        ("stream",),
        keeps,
    ),
    Claim(
        17,
        "DkM's extra cost is negligible beside the lookup.",
        f"At each size measured, a write of DkM takes longer than one of kM by less than {NEGLIGIBLE:.0%} of a lookup.",
        ("stream",),
        negligible_cost,
    ),
)
