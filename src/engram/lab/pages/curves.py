"""Learning curves: how the return of evaluations grows with the steps of training."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np

from engram.lab.pages.numbers import interval_text
from engram.lab.pages.stripes import strokes
from engram.lab.pages.style import PLAIN, Look
from engram.lab.run_record import Series
from engram.lab.statistics import Band, Interval, curve_interval
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.lettering import wrapped
from engram.pictures.marks import mark
from engram.runs.folder import RunFolder
from engram.typing import Array, Doubles

BAND = "95 % t intervals of that mean"
ANY = "any strategy"  # the label of a curve that all strategies share
LABEL_GAP = 0.055  # between two labels, in heights of the plot
COLUMNS = 4  # of a grid of curves
LEGEND_COLUMNS = 6
ASIDE = -0.2  # widths of a panel, by which its title begins left of it, where there are at least three in a row
LINE, NOTE_LINE, TITLE_LINE = 1.95, 0.15, 0.16  # inches: a row of panels, a line of a note, a title's further line
TITLE_LETTER = 0.08  # inches
LABEL_LETTERS, LEGEND_LETTER, LEGEND_SAMPLE = 24, 0.078, 0.6  # letters of a label; inches in a legend


@dataclass(frozen=True)
class Curve:
    """The evaluations of one strategy's runs."""

    label: str
    steps: Array  # [T]
    returns: Array  # [seeds, T], mean over the episodes of each evaluation

    @property
    def mean(self) -> Doubles:
        """The mean over seeds, [T]."""
        return np.asarray(self.returns.mean(axis=0), np.float64)

    @classmethod
    def read(cls, label: str, folders: Sequence[Path]) -> Self:
        """The curve of finished runs that differ in nothing but their seed, from their folders."""
        logs = [list(RunFolder(folder).evaluations()) for folder in folders]
        return cls.of(label, [(_array(log, "step"), _means(log)) for log in logs])

    @classmethod
    def of(cls, label: str, curves: Sequence[tuple[Array, Array]]) -> Self:
        """The curve of the steps and returns of each seed, up to the last evaluation that all seeds have."""
        length = min(len(steps) for steps, _ in curves)
        return cls(label, curves[0][0][:length], np.array([returns[:length] for _, returns in curves]))


@dataclass(frozen=True)
class CurvePanel:
    """Curves that are drawn in one panel."""

    title: str
    curves: Sequence[Curve]
    note: str = ""  # below the title; in the panel where nothing is drawn


def learning_curves(curves: Sequence[Curve], looks: Mapping[str, Look], *, y_label: str) -> Figure:
    """One line per strategy, the mean over seeds, with its name at the end; the bands are `BAND`."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        axes = figure.subplots()
        _draw(axes, curves, looks)
        _limit(axes, curves)
        axes.set_xlabel("Training (environment steps)")
        axes.set_ylabel(y_label)
        _label_ends(axes, curves, looks)
    return figure


def curve_grid(
    rows: Mapping[str, Sequence[CurvePanel]], looks: Mapping[str, Look], *, same_returns: bool = True
) -> Figure:
    """Rows of panels, each with its name on its axis, and one legend.

    A row with many panels takes several lines. `same_returns` says whether all panels share the axis of returns.
    """
    lines = [(name, line) for name, panels in rows.items() for line in _lines(panels)]
    columns = max(len(line) for _, line in lines)
    drawn = [curve for _, line in lines for panel in line for curve in panel.curves]
    with mpl.rc_context({**STYLE, "font.size": 9}):
        told = [max(_note_lines(panel) for panel in line) for _, line in lines]
        titles = [
            [wrapped(panel.title, int(PAGE_WIDTH / columns / TITLE_LETTER)) for panel in line] for _, line in lines
        ]
        more = [max(title.count("\n") for title in some) for some in titles]
        heights = [LINE + NOTE_LINE * count + TITLE_LINE * extra for count, extra in zip(told, more, strict=True)]
        figure = Figure(figsize=(PAGE_WIDTH, 0.5 + sum(heights)), layout="constrained")
        grid = figure.subplots(
            len(lines), columns, sharex=True, sharey=same_returns, squeeze=False, height_ratios=heights
        )
        for i, (name, line) in enumerate(lines):
            for axes, panel, title in zip(grid[i], line, titles[i], strict=False):
                _draw(axes, panel.curves, looks, width=1.4)
                _entitle(axes, title, panel, room=told[i], aside=ASIDE * min(1, columns / 3))
                axes.set_ylabel(name)  # also in the other columns, which stand alone on a phone
                axes.tick_params(labelleft=True)
            for j in range(len(line), columns):
                grid[i, j].set_visible(False)
                if i:
                    grid[i - 1, j].tick_params(labelbottom=True)  # it is the lowest of its column
        for j in range(columns):
            lowest = max(i for i, (_, line) in enumerate(lines) if j < len(line))
            grid[lowest, j].set_xlabel("Training steps")
        for i, (_, line) in enumerate(lines):
            for axes, panel in zip(grid[i], line, strict=False):
                _limit(axes, drawn if same_returns else panel.curves)
        add_legend(figure, {curve.label for curve in drawn}, looks)
    return figure


def _note_lines(panel: CurvePanel) -> int:
    """How many lines of a note stand above a panel."""
    return panel.note.count("\n") + 1 if panel.note and panel.curves else 0


def _entitle(axes: Axes, title: str, panel: CurvePanel, *, room: int, aside: float) -> None:
    """Write a panel's title, with room for so many lines below it, and there its note, or in it where it is empty."""
    axes.set_title(title, pad=4 + 72 * NOTE_LINE * room, x=aside, fontsize=9.5, fontweight="bold", loc="left")
    if panel.curves:
        height = 3 + 72 * NOTE_LINE * (room - _note_lines(panel))
        place: dict[str, Any] = {"xy": (aside, 1), "xytext": (0, height), "va": "bottom"}
    else:
        place = {"xy": (0.03, 0.97), "xytext": (0, 0), "va": "top"}
    axes.annotate(panel.note, xycoords="axes fraction", textcoords="offset points", fontsize=8.5, **place)


def _lines(panels: Sequence[CurvePanel]) -> list[Sequence[CurvePanel]]:
    """Panels in lines of about equal length, none longer than the page is wide."""
    count = ceil(len(panels) / COLUMNS)
    length = ceil(len(panels) / count)
    return [panels[i : i + length] for i in range(0, len(panels), length)]


def add_legend(figure: Figure, names: Collection[str], looks: Mapping[str, Look]) -> None:
    """Add a legend above the panels, in the order of the looks; none where no curve has a look of its own."""
    shown = {name: look for name, look in looks.items() if name in names}
    if not shown:
        return
    lines = [_sample(look) for look in shown.values()]
    figure.legend(
        lines, list(shown), loc="outside upper center", ncols=_columns(list(shown)), frameon=False, handlelength=2.6
    )


def _columns(names: Sequence[str]) -> int:
    """How many columns of a legend have room for these names, in rows of about equal length."""
    for count in range(ceil(len(names) / LEGEND_COLUMNS), len(names)):
        columns = ceil(len(names) / count)
        letters = sum(max(map(len, names[i : i + count])) for i in range(0, len(names), count))
        if letters * LEGEND_LETTER + columns * LEGEND_SAMPLE <= PAGE_WIDTH:
            return columns
    return 1


def _sample(look: Look) -> mpl.lines.Line2D:
    """What a legend shows of a series: a marker, or else a line."""
    if look.marker:
        face = "none" if look.hollow else look.colour
        return mpl.lines.Line2D([], [], color=look.colour, linestyle="", marker=look.marker, markerfacecolor=face)
    return mpl.lines.Line2D([], [], color=look.colour, linestyle=look.linestyle, linewidth=2)


def _draw(axes: Axes, curves: Sequence[Curve], looks: Mapping[str, Look], *, width: float = 1.8) -> None:
    drawn = strokes({curve.label: Series(curve.steps, curve.mean) for curve in curves}, looks, PLAIN)
    for curve in curves:
        look, stroke = looks.get(curve.label, PLAIN), drawn[curve.label]
        band = curve_interval(curve.returns)
        (line,) = axes.plot(
            *(curve.steps, curve.mean),
            **{"color": look.colour, "linestyle": stroke.style, "zorder": stroke.height, "linewidth": width},
        )
        if curve.label in looks:
            mark(line, curve.label, _readings(curve, band))
        if np.isfinite(band.low).all():
            area = axes.fill_between(curve.steps, band.low, band.high, color=look.colour, alpha=0.15, linewidth=0)
            if curve.label in looks:
                mark(area, curve.label)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x else "0")
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def _readings(curve: Curve, band: Band) -> list[str]:
    """What is read at each point of a curve."""
    points = zip(curve.steps, band.low, band.estimate, band.high, strict=True)
    return [f"{step:,} steps: {interval_text(Interval(*each))}, n = {len(curve.returns)}" for step, *each in points]


def _limit(axes: Axes, curves: Sequence[Curve]) -> None:
    """From 0 on, as far as there are returns: bands of few seeds may go beyond. Call it after everything is drawn."""
    axes.margins(x=0)
    axes.set_xlim(left=0)
    if not curves:
        return
    returns = [curve.returns for curve in curves]
    least, most = min(float(each.min()) for each in returns), max(float(each.max()) for each in returns)
    margin = 0.05 * (most - least) or 0.5
    low, high = axes.get_ylim()
    axes.set_ylim(0 if least >= 0 else max(low, least - margin), min(high, most + margin))


def _label_ends(axes: Axes, curves: Sequence[Curve], looks: Mapping[str, Look]) -> None:
    """Name each line at its right end, moved up or down where two names would overlap."""
    low, high = axes.get_ylim()
    ordered = sorted(curves, key=lambda curve: float(curve.returns[:, -1].mean()))
    wanted = [(float(curve.returns[:, -1].mean()) - low) / (high - low) for curve in ordered]
    for curve, height in zip(ordered, spread(wanted, LABEL_GAP), strict=True):
        axes.annotate(
            wrapped(curve.label, LABEL_LETTERS, lines=1),
            (1, height),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=looks.get(curve.label, PLAIN).colour,
            va="center",
            fontweight="bold",
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """The nearest heights, by least squares, that keep their order and are at least a gap apart."""
    groups: list[list[float]] = []  # of heights less i · gap, so that those that touch are equal
    for i, height in enumerate(heights):
        groups.append([height - i * gap])
        while len(groups) > 1 and np.mean(groups[-2]) >= np.mean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    level = [float(np.mean(group)) for group in groups for _ in group]
    return [value + i * gap for i, value in enumerate(level)]


def _array(log: Sequence[Mapping[str, float]], name: str) -> Array:
    return np.array([entry[name] for entry in log])


def _means(log: Sequence[Mapping[str, Sequence[float]]]) -> Array:
    return np.array([np.mean(entry["returns"]) for entry in log])
