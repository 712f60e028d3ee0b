"""A forest plot of differences: a panel for each agent and environment, a line for each thing compared.

A dot is a difference of mean scores with its interval; where a panel has several series (sizes, strategies), each has a
sign of its own, which stands in the panel's title.
"""

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from engram.lab.pages.numbers import interval_text
from engram.lab.statistics import Interval
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import LIT, SOFT
from engram.pictures.lettering import wrapped
from engram.pictures.marks import mark

COLUMNS = {3: 31, 2: 47, 1: 95}  # side by side, and how many letters of a title have room then
MARKERS, SIGNS = "os^DvP", "●■▲◆▼✚"  # of the series of a panel, in their order
ROW, SERIES, ABOVE_ROWS = 0.16, 0.085, 0.62  # inches: a line, each series in it, and what else a panel needs
APART, SPREAD = 0.36, 0.66  # of a line: how far two series lie from each other, and all of them at most
TITLE_LINE = 0.17  # inches: a title's further line
SHORT = 10  # letters of a line's name, up to which every panel says it, not only the first of a row
LETTERS = 36  # of a line's name, before it goes on below
PLAIN = "#3E7CB1"


class Dot(NamedTuple):
    """One difference."""

    line: str  # what is compared: of a panel from top to bottom
    series: str  # empty: there is one only
    alone: Interval  # 95 %, by itself
    together: Interval | None = None  # at the level at which all of the page hold together, where that is what decides

    @property
    def beyond(self) -> bool:
        """Whether it is beyond chance."""
        decides = self.together or self.alone
        return decides.above(0) or decides.below(0)


class Panel(NamedTuple):
    """One agent in one environment."""

    title: str
    digits: int  # of its scores
    dots: list[Dot]

    @property
    def lines(self) -> list[str]:
        """What is compared, from top to bottom."""
        return list(dict.fromkeys(dot.line for dot in self.dots))

    @property
    def series(self) -> list[str]:
        """The series, in order."""
        return list(dict.fromkeys(dot.series for dot in self.dots))

    @property
    def heading(self) -> str:
        """The title, and the signs of the series."""
        shown = ", ".join(f"{SIGNS[rank % len(SIGNS)]} {name}" for rank, name in enumerate(self.series) if name)
        return wrapped(f"{self.title}{f': {shown}' if shown else ''}", COLUMNS[1])

    @property
    def height(self) -> float:
        """In inches."""
        return (
            ABOVE_ROWS
            + TITLE_LINE * self.heading.count("\n")
            + len(self.lines) * (ROW + SERIES * max(len(self.series), 2))
        )


def differences_figure(panels: Sequence[Panel], x_label: str = "Change of the mean score") -> Figure:
    """Panels with the same lines stand side by side, as many as have room for their titles; those with many first."""
    longest = max(len(panel.heading) for panel in panels)
    rows = _rows(panels, next((count for count, letters in COLUMNS.items() if longest <= letters), 1))
    width = max(map(len, rows))
    every = max(len(line) for panel in panels for line in panel.lines) <= SHORT
    heights = [max(panel.height for panel in row) for row in rows]
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(PAGE_WIDTH, sum(heights) + 0.25), layout="constrained")
        grid = figure.subplots(len(rows), width, squeeze=False, height_ratios=heights)
        for row, places in zip(rows, grid, strict=True):
            for column, axes in enumerate(places):
                if column < len(row):
                    _draw(axes, row[column])
                    axes.set_xlabel(x_label)
                    axes.tick_params(axis="y", labelleft=every or column == 0)
                else:
                    axes.set_visible(False)
    return figure


def _rows(panels: Sequence[Panel], columns: int) -> list[list[Panel]]:
    alike = dict[tuple[str, ...], list[Panel]]()
    for panel in sorted(panels, key=lambda panel: -len(panel.lines)):
        alike.setdefault(tuple(panel.lines), []).append(panel)
    return [some[i : i + columns] for some in alike.values() for i in range(0, len(some), columns)]


def _draw(axes: Axes, panel: Panel) -> None:
    places = {line: place for place, line in enumerate(panel.lines)}
    series = panel.series
    apart = min(APART, SPREAD / max(len(series) - 1, 1))
    for dot in panel.dots:
        rank = series.index(dot.series)
        place = places[dot.line] + apart * (rank - (len(series) - 1) / 2)
        colour = LIT if dot.beyond else PLAIN
        for interval, width in ((dot.together, 1.0), (dot.alone, 2.6)):
            if interval is not None and interval.bounded:
                axes.plot([interval.low, interval.high], [place, place], color=colour, linewidth=width)
        (drawn,) = axes.plot([dot.alone.estimate], [place], MARKERS[rank % len(MARKERS)], markersize=5, color=colour)
        what = f"{dot.series}: " if dot.series else ""
        mark(drawn, dot.line, [f"{what}{interval_text(dot.alone, panel.digits)}"])
    axes.axvline(0, color=SOFT, linewidth=1, linestyle=(0, (3, 2)), zorder=0)
    axes.set_yticks(range(len(places)), [wrapped(line, LETTERS, lines=2) for line in places])
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    ends = [end for dot in panel.dots for each in (dot.together, dot.alone) if each for end in each if isfinite(end)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    margin = 0.05 * (high - low) or 0.5
    axes.set_xlim(low - margin, high + margin)
    axes.set_title(panel.heading, fontsize=9.5, fontweight="bold", loc="left")
