"""What is kept of streams of several lengths: which halves DkM holds, and how far every method is from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from engram.lab.dataframes import pl
from engram.lab.pages.curves import add_legend
from engram.lab.pages.numbers import interval_text
from engram.lab.pages.style import BASELINE_COLOUR, COLOURS, Look
from engram.lab.pages.wording import listed, sentence
from engram.lab.ranking import together
from engram.lab.statistics import mean_interval
from engram.paper.stream.density import NAMES, ONLINE, ORDER
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.marks import mark

SOME = 0.05  # of a distance: what is nearer to a half by more than this, beyond chance, holds some of it
TOO_FAST = "DkM forgets too fast to be a clustering"
PANELS = {"to_first": "To the first half", "to_second": "To the second half", "to_all": "To all points"}


@dataclass(frozen=True)
class Kept:
    """At which lengths of the stream DkM holds some of both halves, and at which only what another method holds."""

    lengths: Sequence[int]
    both: Sequence[int]
    second_only: Sequence[int]  # as LRU
    first_only: Sequence[int]  # as kM

    @classmethod
    def read(cls, lengths: pl.DataFrame) -> Self:
        """By seed, all lengths and both halves together at 95 %: see `SOME` for what counts as some of a half."""
        final = lengths.filter(pl.col("fraction") == 1).sort("seed")
        every = sorted(final["points"].unique().to_list())
        level = together(2 * len(every))
        first, second = (
            {points: _holds_some(final.filter(pl.col("points") == points), half, other, level) for points in every}
            for half, other in (("to_first", "lru"), ("to_second", "kmeans"))
        )
        return cls(
            every,
            [points for points in every if first[points] and second[points]],
            [points for points in every if second[points] and not first[points]],
            [points for points in every if first[points] and not second[points]],
        )

    @property
    def forgets_too_fast(self) -> bool:
        """Whether nothing is left of the first half of the longest stream."""
        return self.lengths[-1] in self.second_only

    @property
    def short(self) -> str:
        """The sentence in a line; empty where it is short enough."""
        return f"{TOO_FAST}: of a long stream it holds in the end what LRU holds." if self.forgets_too_fast else ""

    @property
    def beginning(self) -> str:
        """A sentence on streams of which only the first half is held, with a space at its end; empty without any."""
        if not self.first_only:
            return ""
        points = self._listed(self.first_only)
        return f"Of streams of {points} points DkM holds what kM holds, nothing of the second half. "

    def in_words(self, capacity: int) -> str:
        """A sentence; that little can be told, where no length is of any kind."""
        if not (self.both or self.second_only or self.first_only):
            return f"With {capacity} points kept, too little was run to tell which half of a stream DkM holds."
        if self.both:
            text = f"it holds some of both halves of streams of {self._span(self.both)} points"
        else:
            text = "it holds some of both halves of no stream that was tried"
        if self.second_only:
            last = list(self.lengths[-len(self.second_only) :]) == list(self.second_only)
            where = f"from {self.second_only[0]:,} points on" if last else f"of {self._listed(self.second_only)} points"
            text += f", and {where} what LRU holds, nothing of the first half"
        kept = f"with {capacity} points kept"
        return f"{TOO_FAST}: {kept}, {text}." if self.forgets_too_fast else sentence(f"{kept}, DkM{text[2:]}")

    def _span(self, points: Sequence[int]) -> str:
        """Lengths in words: the first and the last of several that follow one another."""
        place = self.lengths.index(points[0])
        if len(points) > 2 and list(self.lengths[place : place + len(points)]) == list(points):
            return f"{points[0]:,} to {points[-1]:,}"
        return self._listed(points)

    def _listed(self, points: Sequence[int]) -> str:
        return listed([f"{each:,}" for each in points])


def _holds_some(final: pl.DataFrame, half: str, other: str, level: float) -> bool:
    """Whether DkM is nearer to a half than the method that holds the other half only."""
    theirs, ours = (final.filter(pl.col("method") == name)[half].to_numpy() for name in (other, "dkm"))
    return mean_interval(theirs - ours, level=level).above(0) and theirs.mean() - ours.mean() > SOME * theirs.mean()


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
    names = listed([NAMES[name] for name in others])
    if not nearest:
        return f"DkM ends nearer to all points than {names} in a stream of no length that was tried."
    rest = [points for points in every if points not in nearest]
    return (
        f"With {capacity} points kept, DkM ends nearer to all points than {names} in streams of "
        f"{listed([f'{points:,}' for points in nearest])} points"
        + (f", beyond chance; in those of {listed([f'{points:,}' for points in rest])} it does not." if rest else ".")
    )


def lengths_figure(lengths: pl.DataFrame, capacity: int) -> Figure:
    """The distances to both halves and to all points, over the length of the stream."""
    final = lengths.filter(pl.col("fraction") == 1)
    methods = [each for each in ORDER[1:] if each in final["method"].to_list()]
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(PAGE_WIDTH, 3.1), layout="constrained")
        grid = figure.subplots(1, len(PANELS), sharey=True)
        for axes, (column, title) in zip(grid, PANELS.items(), strict=True):
            for method in methods:
                _draw_distances(axes, final.filter(pl.col("method") == method), column, method, capacity)
            axes.set_title(title, fontsize=9.5, fontweight="bold", loc="left")
            axes.set_xscale("log")
            ticks = [points / capacity for points in sorted(final["points"].unique().to_list())]
            axes.set_xticks(ticks, [f"{value:g}" for value in ticks])
            axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
            axes.set_ylim(bottom=0)
        grid[0].set_ylabel("Energy distance")
        figure.supxlabel("Length of the stream, in multiples of N", fontsize=9.5)
        looks = {NAMES[method]: Look(COLOURS.get(method, BASELINE_COLOUR)) for method in methods}
        add_legend(figure, set(looks), looks)
    return figure


def _draw_distances(axes: Axes, part: pl.DataFrame, column: str, method: str, capacity: int) -> None:
    """One method's distances, with their intervals."""
    groups = {
        int(points): mean_interval(group[column].to_numpy())
        for (points,), group in part.sort("points").group_by("points", maintain_order=True)
    }
    x = np.array([points / capacity for points in groups])
    colour = COLOURS.get(method, BASELINE_COLOUR)
    estimates = [each.estimate for each in groups.values()]
    (line,) = axes.plot(x, estimates, color=colour, marker="o", markersize=4)
    mark(line, NAMES[method], [f"{points:,} points: {interval_text(each, 4)}" for points, each in groups.items()])
    if all(each.bounded for each in groups.values()):
        low, high = [each.low for each in groups.values()], [each.high for each in groups.values()]
        mark(axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0), NAMES[method])
