"""The report of the 2-D stream: which points the strategies keep, how far they are from the data, what it costs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from engram.files.disk import write_atomically
from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.grid import Study
from engram.lab.pages import page
from engram.lab.pages.claims_table import claims_blocks
from engram.lab.pages.numbers import interval_text
from engram.lab.pages.report_folder import write_figure, write_page
from engram.lab.pages.wording import counted, listed
from engram.lab.statistics import Interval, mean_interval
from engram.paper.claims import CLAIMS
from engram.paper.stream.claims import COSTS, DISTANCES, LENGTHS, TABLES
from engram.paper.stream.density import CAPTION, NAMES, ONLINE, ORDER, Snapshot, densities, evolution, read_snapshots
from engram.paper.stream.lengths import SOME, Kept, lengths_figure, nearest_in_words
from engram.pictures.canvas import Figure
from engram.typing import Array

FILES = ("study.json", "meta.json", "distances.csv", "lengths.csv", "times.csv", "points.csv", "costs.csv")
BATCH = "batch"  # k-means, which sees all points at once


@dataclass(frozen=True)
class StreamReport:
    """The page of the stream."""

    folder: Path
    out: Path
    title: str

    @classmethod
    def read(cls, study: Study, folder: Path, out: Path) -> Self:
        """The report on what a folder holds, to be written to `out`."""
        return cls(folder, out, study.title)

    @cached_property
    def evidence(self) -> Evidence:
        """The tables of the study, for its claims."""
        return Evidence(tables={name: pl.read_csv(self.folder / f"{name.split('/')[1]}.csv") for name in TABLES})

    def write(self) -> Path:
        """Write the page and its figures; return the page's path."""
        if self.out.resolve() != self.folder.resolve():
            for name in FILES:
                write_atomically(self.out / name, (self.folder / name).read_bytes())
        return write_page(page.Page(self.title, self.content()), self.out)

    def content(self) -> list[page.Block]:
        """The page from top to bottom."""
        distances, lengths, costs = (self.evidence.tables[name] for name in (DISTANCES, LENGTHS, COSTS))
        study = json.loads((self.folder / "study.json").read_text())
        by_length = _by_length(read_snapshots(self.folder))
        seeds, stream = len(study["seeds"]), study["parameters"]
        capacity, points = stream["capacity"], stream["points"]
        names = [NAMES[method] for method in ONLINE if method in distances["method"].to_list()]
        mine = tuple(claim for claim in CLAIMS.claims if "stream" in claim.studies)
        kept = Kept.read(lengths)
        headline = kept.in_words(capacity)
        over_lengths = self._drawing(
            lengths_figure(lengths, capacity),
            "lengths",
            f"Energy distance of what is kept, to the halves of the stream and to all of it, for several lengths in "
            f"multiples of the N = {capacity} points that are kept; lower is nearer. Lines: mean over {seeds} seeds; "
            "bands: 95 % t intervals. By the sentence above, DkM holds some of the first half where it is nearer to it "
            "than LRU, and some of the second where it is nearer than kM: seed by seed, beyond chance with all lengths "
            f"together at 95 %, and by more than {100 * SOME:g} % of the distance.",
        )
        return [
            page.Finding(headline, kept.short),
            replace(over_lengths, alt=headline),
            page.Text(f"{kept.beginning}{nearest_in_words(lengths, capacity)}"),
            page.Text(
                f"{points:,} points in the plane: the first half on a grid in random order, the second from a skew "
                f"normal distribution; {capacity} are kept. {listed(names)} see them one by one, k-means all at once. "
                "The paper (its appendix) gives neither the number of points nor that of clusters; both were chosen "
                "here for a clear picture, after other lengths had been seen, so those are shown too."
            ),
            page.Section(CLAIMS.title, claims_blocks(replace(CLAIMS, claims=mine), self.evidence)),
            page.Section(
                "What each method keeps",
                [
                    self._drawing(
                        densities(by_length[points]),
                        "densities",
                        f"Drawn: what is kept of the whole stream in one seed. {CAPTION}",
                        see=kept_in_words(distances),
                    ),
                    _distances(distances, f"Energy distance, mean ± standard deviation over {seeds} seeds"),
                ],
            ),
            page.Section(
                "The length of the stream decides",
                [
                    self._evolution(by_length[max(by_length)], capacity),
                    page.Text(
                        "A write to a full table adds 1 to one count and takes 1/N from each of N, so DkM's counts "
                        "stay around 1, and an entry that is never the nearest is gone after some N writes. Soon after "
                        "the distribution has changed DkM holds some of both; when the second half is several times as "
                        "long as the memory, it holds what LRU holds. Where every count falls by a share of itself "
                        "(Fading), an entry that is never the nearest lasts the longer, the more it has taken in."
                    ),
                ],
            ),
            page.Section("What it costs", [_costs(costs)]),
            page.Section("How it was made", [self._made(study)]),
        ]

    def _drawing(self, figure: Figure, name: str, caption: str, *, see: str = "") -> page.Drawing:
        """Write a figure; what is to be seen in it comes first in its caption, and is what screen readers are told."""
        return write_figure(figure, self.out, name, f"{see} {caption}".strip(), see)

    def _evolution(self, snapshots: list[Snapshot], capacity: int) -> page.Drawing:
        """What is kept of one stream over time."""
        length = snapshots[0].length
        return self._drawing(
            evolution(snapshots),
            "evolution",
            f"What is kept over time of a stream of {length:,} points, "
            f"{length / capacity:g} times as many as are kept: after half of it, where its distribution changes, and "
            f"later. One seed. {CAPTION}",
            see=end_in_words(snapshots),
        )

    def _made(self, study: Mapping[str, Any]) -> page.Facts:
        meta = json.loads((self.folder / "meta.json").read_text())
        versions = ", ".join(f"{name} {text}" for name, text in {"Python": meta["python"], **meta["versions"]}.items())
        facts = {
            "Wall-clock": [f"{meta['seconds'] / 60:.1f} min"],
            "Machine": [meta["platform"]],
            "Versions": [versions],
            "Seeds": [f"{len(study['seeds'])}, from {min(study['seeds'])} on"],
            **{name.replace("_", " ").capitalize(): [_value(each)] for name, each in study["parameters"].items()},
        }
        return page.Facts(facts, ["engram study stream"])


def _value(value: Any) -> str:
    """A parameter for people: `2, 3, 4`; of several by their names, `neighbours 11; rounds 11`."""
    if isinstance(value, Mapping):
        return "; ".join(f"{name} {_value(each)}" for name, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(_value, value))
    return (f"{value:,}" if isinstance(value, int) else str(value)).replace("-", "\N{MINUS SIGN}")


def kept_in_words(distances: pl.DataFrame) -> str:
    """Which of the methods that see points one by one end nearest to each half and to all, and how k-means compares."""
    final = distances.filter(pl.col("fraction") == 1).sort("seed")
    first, second, every = (_nearest(final, column) for column in ("to_first", "to_second", "to_all"))
    text = (
        f"Over {counted(final['seed'].n_unique(), 'seed')}, nearest of those that see points one by one: to the first "
        f"half {_named(first)}; to the second {_named(second)}; to all points {_named(every)}."
    )
    if BATCH not in final["method"].to_list():
        return text
    gap = _gap(final, "to_all", every[0], BATCH)
    beside = "nearer still" if gap.above(0) else "further" if gap.below(0) else "as near, within chance"
    return f"{text} {NAMES[BATCH]}, which sees all at once, is {beside}."


def _nearest(final: pl.DataFrame, column: str) -> list[str]:
    """The method with the smallest mean distance, and those that chance between seeds does not tell from it."""
    there = [name for name in ONLINE if name in final["method"].to_list()]
    best = min(there, key=lambda name: float(final.filter(pl.col("method") == name)[column].to_numpy().mean()))
    return [best, *(name for name in there if name != best and not _gap(final, column, name, best).above(0))]


def _named(methods: Sequence[str]) -> str:
    return listed([NAMES[each] for each in methods])


def _gap(final: pl.DataFrame, column: str, ours: str, theirs: str) -> Interval:
    """How much further one method is than another, by seed."""
    first, second = (final.filter(pl.col("method") == name)[column].to_numpy() for name in (ours, theirs))
    return mean_interval(first - second)


def end_in_words(snapshots: Sequence[Snapshot]) -> str:
    """Which method holds what is nearest to the whole stream at the end of this one seed."""
    end = [each for each in snapshots if each.method in ONLINE and each.fraction == 1 and each.to_all is not None]
    if not end:
        return ""
    nearest = min(end, key=lambda each: each.to_all or 0.0)
    return f"At its end {NAMES[nearest.method]} holds what is nearest to the whole stream."


def _distances(distances: pl.DataFrame, caption: str) -> page.Table:
    rows = []
    for (method, fraction), part in distances.group_by(["method", "fraction"], maintain_order=True):
        cells = [_mean_and_std(part[name].to_numpy()) for name in ("to_first", "to_second", "to_all")]
        rows.append(
            (
                ORDER.index(str(method)),
                float(str(fraction)),
                [NAMES[str(method)], f"{float(str(fraction)):.0%}", *cells],
            )
        )
    ordered = [row for _, _, row in sorted(rows, key=lambda each: each[:2])]
    return page.Table(["method", "seen", "to the first half", "to the second half", "to all"], ordered, caption)


def _costs(costs: pl.DataFrame) -> page.Table:
    rows = []
    kinds = ["dimensions", "capacity", "neighbours"]
    for (dimensions, capacity, neighbours), part in costs.group_by(kinds, maintain_order=True):
        extra = mean_interval(((part["dkm_us"] - part["kmeans_us"]) / part["lookup_us"]).to_numpy())
        means = [f"{part[name].to_numpy().mean():.2f} µs" for name in ("lookup_us", "kmeans_us", "dkm_us")]
        rows.append([str(dimensions), f"{capacity:,}", str(neighbours), *means, interval_text(extra, 3)])
    return page.Table(
        ["dimensions", "entries", "neighbours", "lookup", "write, kM", "write, DkM", "(DkM − kM) / lookup"],
        rows,
        f"Time per point, one core, {costs['round'].n_unique()} rounds",
        note="Means over rounds, in each of which all three were timed in turns; the last column: the mean over rounds "
        "of their ratio, with its 95 % interval. A lookup finds the neighbours in one table; a write contains a search "
        "for the nearest entry.",
    )


def _by_length(snapshots: Sequence[Snapshot]) -> dict[int, list[Snapshot]]:
    """The snapshots of each stream, by its number of points."""
    found: dict[int, list[Snapshot]] = {}
    for snapshot in snapshots:
        found.setdefault(snapshot.length, []).append(snapshot)
    return found


def _mean_and_std(values: Array) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1):.4f}" if len(values) > 1 else f"{values.mean():.4f}"
