"""The report of the 2-D stream: which points the strategies keep, how far they are from the data, what it costs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from engram.files.disk import write_atomically
from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.grid import Study
from engram.lab.pages import page
from engram.lab.pages.claims_table import claims_blocks
from engram.lab.pages.numbers import interval_text
from engram.lab.pages.report_folder import write_figure, write_page
from engram.lab.pages.style import COLOURS
from engram.lab.ranking import together
from engram.lab.statistics import mean_interval
from engram.paper.claims import CLAIMS
from engram.paper.stream.claims import COSTS, DISTANCES, LENGTHS, TABLES
from engram.paper.stream.density import CAPTION, NAMES, ONLINE, ORDER, Snapshot, densities, evolution, read_snapshots
from engram.pictures.canvas import STYLE, Figure, mpl
from engram.typing import Array

FILES = ("study.json", "meta.json", "distances.csv", "lengths.csv", "times.csv", "points.csv", "costs.csv")


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
        headline = nearest_in_words(lengths, capacity)
        over_lengths = self._drawing(
            lengths_figure(lengths, capacity),
            "lengths",
            f"Energy distance to all points for streams of several lengths, in multiples of the N = {capacity} points "
            f"that are kept; lower is nearer. Lines: mean over {seeds} seeds; bands: 95 % t intervals. The sentence "
            "above compares seed by seed, all pairs and lengths together at 95 %.",
        )
        return [
            page.Finding(headline),
            replace(over_lengths, alt=headline),
            page.Text(
                f"{points:,} points in the plane: the first half on a grid in random order, the second from a skew "
                f"normal distribution; {capacity} are kept. {_listed(names)} see them one by one, k-means all at once. "
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
                        f"{kept_in_words(distances)} After the whole stream; one seed. {CAPTION}",
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
                        "long as the memory, it holds what LRU holds. Where every n falls by a share of itself "
                        "(Fading), an entry that is never the nearest lasts the longer, the more it has taken in."
                    ),
                ],
            ),
            page.Section("What it costs", [_costs(costs)]),
            page.Section("How it was made", [self._made(study)]),
        ]

    def _drawing(self, figure: Figure, name: str, caption: str) -> page.Drawing:
        return write_figure(figure, self.out, name, caption)

    def _evolution(self, snapshots: list[Snapshot], capacity: int) -> page.Drawing:
        """What is kept of one stream over time."""
        length = snapshots[0].length
        return self._drawing(
            evolution(snapshots),
            "evolution",
            f"{end_in_words(snapshots)} What is kept over time of a stream of {length:,} points, "
            f"{length / capacity:g} times as many as are kept: after half of it, where its distribution changes, and "
            f"later. One seed. {CAPTION}",
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


def nearest_in_words(lengths: pl.DataFrame, capacity: int) -> str:
    """In streams of which lengths DkM ends nearer to all points than every other method that sees them one by one.

    The distances of a seed are compared with one another, all of them together at 95 %.
    """
    final = lengths.filter(pl.col("fraction") == 1).sort("seed")
    others = [name for name in ONLINE if name != "dkm" and name in final["method"].to_list()]
    every = sorted(final["points"].unique().to_list())
    nearest = []
    for points in every:
        found = {
            str(method): part["to_all"].to_numpy()
            for (method,), part in final.filter(pl.col("points") == points).group_by("method")
        }
        gaps = [mean_interval(found[name] - found["dkm"], level=together(len(every) * len(others))) for name in others]
        nearest += [points] if all(gap.above(0) for gap in gaps) else []
    names = _listed([NAMES[name] for name in others])
    if not nearest:
        return f"DkM ends nearer to all points than {names} in a stream of no length that was tried."
    rest = [points for points in every if points not in nearest]
    return (
        f"With {capacity} points kept, DkM ends nearer to all points than {names} in streams of "
        f"{_listed([f'{points:,}' for points in nearest])} points"
        + (f", beyond chance; in those of {_listed([f'{points:,}' for points in rest])} it does not." if rest else ".")
    )


def kept_in_words(distances: pl.DataFrame) -> str:
    """Which of the methods that see points one by one end nearest to each half of the stream, and to all of it."""
    final = distances.filter((pl.col("fraction") == 1) & pl.col("method").is_in(ONLINE)).sort("seed")
    first, second, everything = (_nearest(final, name) for name in ("to_first", "to_second", "to_all"))
    return f"Nearest to the first half: {first}; to the second: {second}; to all points: {everything}."


def _nearest(final: pl.DataFrame, name: str) -> str:
    """The method with the smallest mean distance, and those that chance between seeds does not tell from it."""
    found = {str(method): part[name].to_numpy() for (method,), part in final.group_by("method", maintain_order=True)}
    best = min(found, key=lambda method: float(found[method].mean()))
    return _listed([NAMES[each] for each in found if not mean_interval(found[each] - found[best]).above(0)])


def end_in_words(snapshots: Sequence[Snapshot]) -> str:
    """Which method holds what is nearest to the whole stream at the end of this one seed."""
    end = [each for each in snapshots if each.method in ONLINE and each.fraction == 1 and each.to_all is not None]
    if not end:
        return ""
    nearest = min(end, key=lambda each: each.to_all or 0.0)
    return f"At its end {NAMES[nearest.method]} holds what is nearest to the whole stream."


def lengths_figure(lengths: pl.DataFrame, capacity: int) -> Figure:
    """The distance to all points over the length of the stream."""
    final = lengths.filter(pl.col("fraction") == 1)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for method in [each for each in ORDER[1:] if each in final["method"].to_list()]:
            part = final.filter(pl.col("method") == method)
            groups = [
                (int(points) / capacity, group["to_all"].to_numpy())
                for (points,), group in part.group_by("points", maintain_order=True)
            ]
            intervals = [mean_interval(values) for _, values in groups]
            x = np.array([length for length, _ in groups])
            colour = COLOURS.get(method, "#666666")
            axes.plot(
                x, [each.estimate for each in intervals], color=colour, marker="o", markersize=4, label=NAMES[method]
            )
            low, high = [each.low for each in intervals], [each.high for each in intervals]
            if all(each.bounded for each in intervals):
                axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.set_xscale("log")
        axes.set_xticks(x, [f"{value:g} N" for value in x])
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
        axes.set_ylim(bottom=0)
        axes.set_xlabel("Length of the stream")
        axes.set_ylabel("Energy distance to all points")
        figure.legend(loc="outside upper center", ncols=5, frameon=False)
    return figure


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


def _listed(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _mean_and_std(values: Array) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1):.4f}" if len(values) > 1 else f"{values.mean():.4f}"
