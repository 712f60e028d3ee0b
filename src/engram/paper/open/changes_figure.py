"""A figure of what choices change: a panel for each agent and environment, a dot with its interval for each size."""

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from engram.lab.pages.numbers import interval_text
from engram.lab.statistics import Interval
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import LIT, SOFT
from engram.pictures.marks import mark

MOST_COLUMNS = 3
MARKERS, SIGNS = ("o", "s"), ("●", "■")  # of the sizes of a panel, the smallest first
ASIDE = 0.18  # of a row: how far sizes lie from each other
ROW, ABOVE_ROWS = 0.3, 0.62  # inches: a choice, and what else a panel needs
PLAIN = "#3E7CB1"


class Dot(NamedTuple):
    """What one choice changes at one size."""

    choice: str
    size: int
    alone: Interval  # 95 %, by itself
    together: Interval  # at the level at which all of the page hold together


class Panel(NamedTuple):
    """One agent in one environment."""

    title: str
    digits: int  # of its scores
    dots: list[Dot]

    @property
    def choices(self) -> list[str]:
        """The choices that were tried, from top to bottom."""
        return list(dict.fromkeys(dot.choice for dot in self.dots))

    @property
    def sizes(self) -> list[int]:
        """The sizes at which they were tried."""
        return sorted({dot.size for dot in self.dots})


def changes_figure(panels: Sequence[Panel]) -> Figure:
    """Panels in which the same choices were tried stand side by side; those with many choices first."""
    lines = _lines(panels)
    columns = max(map(len, lines))
    heights = [ABOVE_ROWS + ROW * len(line[0].choices) for line in lines]
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(PAGE_WIDTH, sum(heights) + 0.25), layout="constrained")
        grid = figure.subplots(len(lines), columns, squeeze=False, height_ratios=heights)
        for line, places in zip(lines, grid, strict=True):
            for column, axes in enumerate(places):
                if column < len(line):
                    _draw(axes, line[column])
                    axes.tick_params(axis="y", labelleft=column == 0)
                else:
                    axes.set_visible(False)
    return figure


def _lines(panels: Sequence[Panel]) -> list[list[Panel]]:
    alike = dict[tuple[str, ...], list[Panel]]()
    for panel in sorted(panels, key=lambda panel: -len(panel.choices)):
        alike.setdefault(tuple(panel.choices), []).append(panel)
    return [some[i : i + MOST_COLUMNS] for some in alike.values() for i in range(0, len(some), MOST_COLUMNS)]


def _draw(axes: Axes, panel: Panel) -> None:
    places = {choice: place for place, choice in enumerate(panel.choices)}
    sizes = panel.sizes
    for dot in panel.dots:
        rank = sizes.index(dot.size)
        place = places[dot.choice] + ASIDE * (2 * rank - len(sizes) + 1)
        beyond = dot.together.above(0) or dot.together.below(0)
        colour = LIT if beyond else PLAIN
        for interval, width in ((dot.together, 1.0), (dot.alone, 2.6)):
            if interval.bounded:
                axes.plot([interval.low, interval.high], [place, place], color=colour, linewidth=width)
        (drawn,) = axes.plot([dot.alone.estimate], [place], MARKERS[rank % len(MARKERS)], markersize=5, color=colour)
        reading = f"{dot.size:,} entries: {interval_text(dot.alone, panel.digits)}"
        mark(drawn, dot.choice, [reading])
    axes.axvline(0, color=SOFT, linewidth=1, linestyle=(0, (3, 2)), zorder=0)
    axes.set_yticks(range(len(places)), list(places))
    axes.set_ylim(len(places) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    ends = [end for dot in panel.dots for end in dot.together if isfinite(end)]
    margin = 0.05 * (max(ends) - min(ends)) or 0.5
    axes.set_xlim(min(ends) - margin, max(ends) + margin)
    shown = ", ".join(f"{SIGNS[rank % len(SIGNS)]} {size:,}" for rank, size in enumerate(sizes))
    axes.set_title(f"{panel.title}: {shown}", fontsize=9.5, fontweight="bold", loc="left")
    axes.set_xlabel("Change of the mean score")
