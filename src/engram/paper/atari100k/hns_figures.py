"""Figures of human-normalised scores: totals beside published agents, game by game, and against what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from engram.lab.pages.curves import add_legend
from engram.lab.pages.numbers import interval_text
from engram.lab.pages.style import BASELINE_COLOUR, Look
from engram.lab.statistics import Interval
from engram.paper.atari100k.games import PROTOCOLS, Protocol
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import SOFT
from engram.pictures.marks import mark

PUBLISHED = "published agents"
LOOKS: dict[str, Look] = {  # by name in the legend
    PROTOCOLS["plain"]: Look("#0072B2", marker="o"),
    PROTOCOLS["sticky"]: Look("#D55E00", marker="s"),
    PUBLISHED: Look(BASELINE_COLOUR, marker="D"),  # without intervals, so hollow
}
APART: dict[Protocol, float] = {"plain": -0.16, "sticky": 0.16}  # so that two ways to play do not cover one another
ROW, ABOVE_ROWS = 0.27, 1.0  # inches: a line, and what else a figure needs
LINEAR = 0.1  # up to which an axis of scores is linear; logarithmic beyond it
TICKS = (-0.1, 0, 0.1, 1, 10)


class Line(NamedTuple):
    """A line of a figure: a contender or a published agent, or a game."""

    label: str
    ours: Mapping[Protocol, Sequence[Interval | None]]  # one for each panel
    others: Sequence[Mapping[str, float]]  # scores of published agents, by name, for each panel
    seeds: str = ""  # behind each of ours, in words


def lines_figure(panels: Sequence[str], lines: Sequence[Line], *, logarithmic: bool = False) -> Figure:
    """A panel for each kind of score, a line for each contender or game."""
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(PAGE_WIDTH, ABOVE_ROWS + ROW * len(lines)), layout="constrained")
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for number, (axes, title) in enumerate(zip(grid, panels, strict=True)):
            for place, line in enumerate(lines):
                _draw_line(axes, line, number, place)
            axes.set_title(title, fontsize=9.5, fontweight="bold", loc="left")
            _scale(axes, logarithmic=logarithmic)
            axes.set_yticks(range(len(lines)), [line.label for line in lines])
            axes.set_ylim(len(lines) - 0.4, -0.6)
            axes.tick_params(axis="y", length=0)
            axes.grid(axis="y", color=SOFT, alpha=0.25, linewidth=0.6)
        drawn = [(PROTOCOLS[way], each) for line in lines for way, found in line.ours.items() for each in found if each]
        published = {PUBLISHED} if any(each for line in lines for each in line.others) else set[str]()
        known = {name for name, each in drawn if each.bounded}
        shown = {name: replace(look, hollow=name not in known) for name, look in LOOKS.items()}
        add_legend(figure, {name for name, _ in drawn} | published, shown)
        figure.supxlabel("Human-normalised score: 0 for random play, 1 for a person", fontsize=9.5)
    return figure


def _draw_line(axes: Axes, line: Line, number: int, place: int) -> None:
    for name, score in line.others[number].items() if line.others else ():
        (dot,) = axes.plot([score], [place], "D", markersize=4, color=BASELINE_COLOUR, markerfacecolor="none")
        mark(dot, PUBLISHED, [f"{name}, {line.label}: {score:.3f}" if name != line.label else f"{name}: {score:.3f}"])
    for protocol, found in line.ours.items():
        interval, name = found[number], PROTOCOLS[protocol]
        if interval is None:
            continue
        colour, height = LOOKS[name].colour, place + APART[protocol]
        if interval.bounded:
            (bar,) = axes.plot([interval.low, interval.high], [height] * 2, color=colour, linewidth=1.8, alpha=0.7)
            mark(bar, name)
        face = colour if interval.bounded else "none"
        (dot,) = axes.plot(
            [interval.estimate], [height], LOOKS[name].marker, markersize=4.5, color=colour, markerfacecolor=face
        )
        mark(dot, name, [f"{line.label}, {name}: {interval_text(interval, 3)}, {line.seeds}"])


def _scale(axes: Axes, *, logarithmic: bool) -> None:
    """The axis of scores, with lines at random play and at a person's score."""
    if logarithmic:
        axes.set_xscale("symlog", linthresh=LINEAR)
        axes.set_xticks(TICKS, [f"{tick:g}".replace("-", "−") for tick in TICKS])
        axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    else:
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5))
    for score, dashes in ((0, "solid"), (1, (0, (3, 2)))):
        if logarithmic or score == 0:
            axes.axvline(score, color=SOFT, linewidth=1, linestyle=dashes, zorder=0)


class Point(NamedTuple):
    """A game of one contender: how much of it comes back, and its score."""

    label: str
    protocol: Protocol
    share: float  # of states that are hit exactly
    score: float  # human-normalised, mean over runs


def scatter_figure(panels: Mapping[str, Sequence[Point]]) -> Figure:
    """Scores over the share of exact hits: a panel for each way in which that is measured."""
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(PAGE_WIDTH, 3.6), layout="constrained")
        grid = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, points) in zip(grid, panels.items(), strict=True):
            for protocol, name in PROTOCOLS.items():
                mine = [point for point in points if point.protocol == protocol]
                if not mine:
                    continue
                (dots,) = axes.plot(
                    [100 * point.share for point in mine],
                    [point.score for point in mine],
                    LOOKS[name].marker,
                    markersize=5,
                    color=LOOKS[name].colour,
                    alpha=0.8,
                )
                mark(dots, name, [f"{each.label}: {100 * each.share:.0f} %, {each.score:.2f}" for each in mine])
            axes.set_title(title, fontsize=9.5, fontweight="bold", loc="left")
            axes.set_yscale("symlog", linthresh=LINEAR)
            axes.set_yticks(TICKS, [f"{tick:g}".replace("-", "−") for tick in TICKS])
            axes.yaxis.set_minor_locator(mpl.ticker.NullLocator())
            most = 100 * max(point.share for point in points)
            axes.set_xlim(-0.04 * most, 1.04 * most)  # dots at 0 are seen whole
            axes.set_xlabel("States that are hit exactly (%)")
        grid[0].set_ylabel("Human-normalised score")
        add_legend(figure, {PROTOCOLS[point.protocol] for points in panels.values() for point in points}, LOOKS)
    return figure
