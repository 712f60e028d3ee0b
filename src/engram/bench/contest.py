"""Contests: several contenders do the same work in turn, round by round, and their speeds are compared round by round.

Whatever else the machine does falls on all of them, so ratios carry over to other machines where times do not.
"""

from collections.abc import Callable, Mapping
from statistics import geometric_mean, median, quantiles
from time import perf_counter
from typing import Any, NamedTuple

Work = Callable[[int], object]  # does a piece of work so many times


class Row(NamedTuple):
    """What came of a contest: the time of one piece of work, ours and a peer's or a limit's, and their ratio."""

    group: str
    name: str
    ours: float  # microseconds, the median over rounds
    peer: str  # whose time it is compared with
    theirs: float  # microseconds
    ratio: float  # theirs ÷ ours, the median over rounds: above 1 we are faster
    low: float  # quartiles of the ratio
    high: float
    asked: float | None = None  # the ratio that it should reach

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return self._asdict()


Times = dict[str, list[float]]  # of each contender, seconds for one piece of work, one number for each round


def race(contenders: Mapping[str, Work], counts: Mapping[str, int], rounds: int) -> Times:
    """Let every contender do its count of work in each round."""
    times: Times = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, work in contenders.items():
            count = counts[name]
            begin = perf_counter()
            work(count)
            times[name].append((perf_counter() - begin) / count)
    return times


def count_for(work: Work, seconds: float) -> int:
    """How often a piece of work can be done in so many seconds, about; at least once."""
    work(1)  # kernels are compiled at their first use
    count = 1
    while True:
        begin = perf_counter()
        work(count)
        took = perf_counter() - begin
        if took > seconds / 4 or count >= 2**20:
            return max(1, int(count * seconds / took))
        count *= 4


def compare(
    times: Times, ours: str, theirs: str, *, group: str, name: str, peer: str, asked: float | None = None
) -> Row:
    """One contender beside another."""
    ratios = [slow / fast for slow, fast in zip(times[theirs], times[ours], strict=True)]
    low, _, high = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else [ratios[0]] * 3
    return Row(
        group, name, 1e6 * median(times[ours]), peer, 1e6 * median(times[theirs]), median(ratios), low, high, asked
    )


def mean_of_rows(rows: list[Row], *, name: str, asked: float | None = None) -> Row:
    """Several contests against one kind of peer as one row: geometric means."""
    means = {
        field: geometric_mean([getattr(row, field) for row in rows])
        for field in ("ours", "theirs", "ratio", "low", "high")
    }
    return Row(rows[0].group, name, peer=rows[0].peer, asked=asked, **means)
