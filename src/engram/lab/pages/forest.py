"""A forest plot: for each strategy its score with an interval, and how probably the highest scores above it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isfinite

from engram.lab.pages.numbers import interval_text
from engram.lab.pages.style import Look
from engram.lab.statistics import Interval
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import SOFT
from engram.pictures.lettering import wrapped
from engram.pictures.marks import mark

ONE_COLUMN = 3  # panels, up to which they stand below one another
NARROW = 4.9  # inches: as much as a phone shows
RUNS = (" run", " runs")
ROW, ABOVE_ROWS = 0.23, 0.78  # inches: a strategy, and what else a panel needs
LINE, TITLE_LINE = 0.14, 0.17  # inches: a further line of a label, and of a title
LETTERS = 24  # of a label in a line
LETTER, TITLE_LETTER, ROOM = 0.07, 0.076, 0.1  # inches: of a label, of a title, and between a label and its axis


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

    @property
    def labels(self) -> list[str]:
        """The names of the rows, as there is room for them."""
        return [wrapped(row.label, LETTERS, lines=2) for row in self.rows]

    def heading(self, width: float) -> str:
        """The title, in lines that fit beside the labels into so many inches."""
        beside = max(len(line) for label in self.labels for line in label.split("\n"))
        return wrapped(self.title, int((width - ROOM - LETTER * beside) / TITLE_LETTER), lines=4)

    def height(self, width: float) -> float:
        """In inches."""
        row = ROW + LINE * max(label.count("\n") for label in self.labels)
        return ABOVE_ROWS + TITLE_LINE * self.heading(width).count("\n") + row * len(self.rows)


def is_compared(panels: Sequence[Panel]) -> bool:
    """Whether there are runs enough to say how probably the highest scores above another."""
    return any(row.below_first is not None and row.below_first.bounded for panel in panels for row in panel.rows)


def forest(panels: Sequence[Panel], looks: Mapping[str, Look]) -> Figure:
    """A panel for each agent and environment: scores, and to the right of them comparisons with the highest."""
    columns = 1 if len(panels) <= ONE_COLUMN else 2
    width = NARROW if columns == 1 else PAGE_WIDTH
    lines = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    heights = [max(panel.height(width / columns) for panel in line) for line in lines]
    parts = [1.5, 1.0] if is_compared(panels) else [1.0]  # widths of a panel's axes
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(width, sum(heights) + 0.25), layout="constrained")
        rows = ceil(len(panels) / columns)
        grid = figure.subplots(
            rows, len(parts) * columns, squeeze=False, width_ratios=parts * columns, height_ratios=heights
        )
        places = grid.reshape(rows * columns, len(parts))  # of each panel, its axes
        for panel, axes in zip(panels, places, strict=False):
            _draw(axes[0], panel, looks)
            axes[0].set_title(panel.heading(width / columns), fontsize=9.5, fontweight="bold", loc="left", pad=17)
            axes[0].set_xlim(*_limits([each for each in panels if each.scale == panel.scale]))
            if len(parts) > 1:
                _compare(axes[1], panel, looks)
            _count(axes[-1], panel)
        for axes in places[len(panels) :].flat:
            axes.set_visible(False)
        for axes in places[max(0, len(panels) - columns) : len(panels)]:  # the lowest of each column
            for each, label in zip(axes, ("Score", "Probability"), strict=False):
                each.set_xlabel(label)
    return figure


def _limits(panels: Sequence[Panel]) -> tuple[float, float]:
    least, most = min(panel.span[0] for panel in panels), max(panel.span[1] for panel in panels)
    ends = [value for panel in panels for row in panel.rows for value in row.score if isfinite(value)]
    low, high = max(min(ends), least), min(max(ends), most)
    margin = 0.06 * (high - low) or 0.5
    return low - margin, high + margin


def _draw(axes: Axes, panel: Panel, looks: Mapping[str, Look]) -> None:
    """The scores of a panel."""
    for place, row in enumerate(panel.rows):
        _dot(axes, row.score, place, looks[row.label].colour, row)
    axes.set_yticks(range(len(panel.rows)), panel.labels)
    kind = f"{panel.scores[:1].upper()}{panel.scores[1:]}"
    axes.annotate(kind, (0, 1), (0, 4), "axes fraction", "offset points", fontsize=9)
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(3))  # "−400" is as wide as a tick may be
    _frame(axes, panel)


def _compare(axes: Axes, panel: Panel, looks: Mapping[str, Look]) -> None:
    """How probably the highest scores above each other one."""
    for place, row in enumerate(panel.rows):
        if row.below_first is None:
            axes.text(0, place, "highest mean", va="center", fontsize=8)
        elif row.below_first.bounded:
            _dot(axes, row.below_first, place, looks[row.label].colour, row)
    axes.set_title("beaten by the highest", fontsize=9, loc="left", pad=4)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.plot([0.5, 0.5], [0.5, len(panel.rows) - 0.4], color=SOFT, linewidth=1, linestyle=(0, (3, 2)), zorder=0)
    axes.set_xlim(-0.04, 1.04)
    axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
    _frame(axes, panel)


def _count(axes: Axes, panel: Panel) -> None:
    """The number of runs of each row, to the right of the axes."""
    for place, row in enumerate(panel.rows):
        count = f"{row.runs}{RUNS[row.runs > 1] if place == 0 else ''}"
        axes.text(1.06, place, count, va="center", fontsize=8, transform=axes.get_yaxis_transform())


def _frame(axes: Axes, panel: Panel) -> None:
    axes.set_ylim(len(panel.rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def _dot(axes: Axes, interval: Interval, place: int, colour: str, row: Row) -> None:
    """An estimate with its interval; a hollow dot where there are too few runs for one."""
    if interval.bounded:
        (line,) = axes.plot([interval.low, interval.high], [place, place], color=colour, linewidth=2.2)
        mark(line, row.label)
    face = colour if interval.bounded else "none"
    (dot,) = axes.plot([interval.estimate], [place], "o", markersize=5.5, color=colour, markerfacecolor=face)
    mark(dot, row.label, [f"{interval_text(interval)}, {row.runs} runs"])
