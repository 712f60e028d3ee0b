"""A forest plot: for each strategy its score with an interval, and how probably the highest scores above it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from engram.lab.pages.numbers import interval_text
from engram.lab.pages.style import Look
from engram.lab.statistics import Interval
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import SOFT
from engram.pictures.marks import mark

ONE_COLUMN = 3  # panels, up to which they stand below one another
NARROW = 4.9  # inches: as much as a phone shows
RUNS = (" run", " runs")
ROW, ABOVE_ROWS = 0.23, 0.78  # inches: a strategy, and what else a panel needs


@dataclass(frozen=True)
class Row:
    """One strategy."""

    label: str
    score: Interval  # interquartile mean or mean of its scores
    below_first: Interval | None  # how probably the highest scores above it; None for the highest itself
    runs: int


@dataclass(frozen=True)
class Panel:
    """One agent in one environment; panels with the same scale have the same axis of scores."""

    title: str
    scale: str
    scores: str  # the kind of mean
    rows: Sequence[Row]  # the highest first
    span: tuple[float, float]  # the lowest and the highest score of a run, beyond which intervals are cut off


def forest(panels: Sequence[Panel], looks: Mapping[str, Look]) -> Figure:
    """A panel for each agent and environment: scores on the left, comparisons with the highest on the right."""
    columns = 1 if len(panels) <= ONE_COLUMN else 2
    lines = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    heights = [ABOVE_ROWS + ROW * max(len(panel.rows) for panel in line) for line in lines]
    with mpl.rc_context({**STYLE, "font.size": 9}):
        size = (NARROW if columns == 1 else PAGE_WIDTH, sum(heights) + 0.25)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(
            ceil(len(panels) / columns),
            2 * columns,
            squeeze=False,
            width_ratios=[1.5, 1] * columns,
            height_ratios=heights,
        )
        limits = {
            scale: _limits([each for each in panels if each.scale == scale]) for scale in {p.scale for p in panels}
        }
        for i, (left, right) in enumerate(zip(grid[:, ::2].flat, grid[:, 1::2].flat, strict=True)):
            if i < len(panels):
                _draw(left, right, panels[i], looks)
                left.set_xlim(*limits[panels[i].scale])
            else:
                left.set_visible(False)
                right.set_visible(False)
        for i in range(max(0, len(panels) - columns), len(panels)):  # the lowest of each column
            grid[i // columns, 2 * (i % columns)].set_xlabel("Score")
            grid[i // columns, 2 * (i % columns) + 1].set_xlabel("Probability")
    return figure


def _limits(panels: Sequence[Panel]) -> tuple[float, float]:
    least, most = min(panel.span[0] for panel in panels), max(panel.span[1] for panel in panels)
    ends = [value for panel in panels for row in panel.rows for value in row.score if isfinite(value)]
    low, high = max(min(ends), least), min(max(ends), most)
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def _draw(left: Axes, right: Axes, panel: Panel, looks: Mapping[str, Look]) -> None:
    for place, row in enumerate(panel.rows):
        colour = looks[row.label].colour
        _dot(left, row.score, place, colour, row)
        if row.below_first is None:
            right.text(0, place, "highest mean", va="center", fontsize=8)
        elif row.below_first.bounded:
            _dot(right, row.below_first, place, colour, row)
        count = f"{row.runs}{RUNS[row.runs > 1] if place == 0 else ''}"
        right.text(1.06, place, count, va="center", fontsize=8, transform=right.get_yaxis_transform())
    left.set_yticks(range(len(panel.rows)), [row.label for row in panel.rows])
    left.set_title(panel.title, fontsize=9.5, fontweight="bold", loc="left", pad=17)
    left.annotate(
        f"{panel.scores[:1].upper()}{panel.scores[1:]}", (0, 1), (0, 4), "axes fraction", "offset points", fontsize=9
    )
    right.set_title("highest above it", fontsize=9, loc="left", pad=4)
    right.set_yticks([])
    right.spines["left"].set_visible(False)
    right.plot([0.5, 0.5], [0.5, len(panel.rows) - 0.4], color=SOFT, linewidth=1, linestyle=(0, (3, 2)), zorder=0)
    right.set_xlim(-0.04, 1.04)
    right.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    for axes in (left, right):
        axes.set_ylim(len(panel.rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
    left.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3))  # "−400" is as wide as a tick may be


def _dot(axes: Axes, interval: Interval, place: int, colour: str, row: Row) -> None:
    """An estimate with its interval; a hollow dot where there are too few runs for one."""
    if interval.bounded:
        (line,) = axes.plot([interval.low, interval.high], [place, place], color=colour, linewidth=2.2)
        mark(line, row.label)
    face = colour if interval.bounded else "none"
    (dot,) = axes.plot([interval.estimate], [place], "o", markersize=5.5, color=colour, markerfacecolor=face)
    mark(dot, row.label, [f"{interval_text(interval)}, {row.runs} runs"])
