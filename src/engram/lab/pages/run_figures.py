"""Figures of single runs: returns over training, and their metrics as small multiples."""

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np

from engram.lab.pages.curves import add_legend
from engram.lab.pages.style import COLOURS, DASHES, OTHER_COLOURS, Look
from engram.lab.run_record import RunRecord, Series
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl

ORDER = ("dkm", "lru", "kmeans", "sur", "rew", "fading")  # of the colours: the first runs are the easiest to tell apart
MOST_POINTS = 200  # of a line
MOST_DOTS = 2_000  # of training episodes
COLUMNS = 3  # of small multiples


def run_looks(names: Sequence[str]) -> dict[str, Look]:
    """A colour for each run, and dashes where there are more runs than colours."""
    colours = [*(COLOURS[name] for name in ORDER), *OTHER_COLOURS]
    return {
        name: Look(colours[i % len(colours)], DASHES[i // len(colours) % len(DASHES)]) for i, name in enumerate(names)
    }


def returns_figure(panels: Mapping[str, Sequence[RunRecord]], looks: Mapping[str, Look]) -> Figure:
    """Returns over training, a panel for each environment; a single run is drawn with its training episodes."""
    alone = sum(len(runs) for runs in panels.values()) == 1
    columns = min(len(panels), 2)
    rows = ceil(len(panels) / columns)
    with mpl.rc_context(STYLE):
        width = 6.8 if columns == 1 else PAGE_WIDTH
        figure = Figure(figsize=(width, 0.4 + 3.4 * rows if columns == 1 else 0.5 + 2.8 * rows), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, (env, runs) in zip(grid.flat, panels.items(), strict=False):
            for run in runs:
                _draw_returns(axes, run, looks[run.name], alone=alone)
            axes.set_ylabel("Return per episode")
            axes.set_xlabel("Training (environment steps)")
            _finish(axes)
            if len(panels) > 1:
                axes.set_title(env, fontsize=10.5, fontweight="bold", loc="left")
            if alone:
                axes.legend(frameon=False, loc="best", fontsize=9)
        for axes in grid.flat[len(panels) :]:
            axes.set_visible(False)
        if not alone:
            add_legend(figure, set(looks), looks)
    return figure


def _draw_returns(axes: Axes, run: RunRecord, look: Look, *, alone: bool) -> None:
    """The mean return of evaluations as a line, and from the lowest to the highest as a band."""
    if alone and len(run.episodes.steps):
        dots = run.episodes.thinned(MOST_DOTS)
        axes.plot(*dots, ".", color="#8a929b", markersize=3, alpha=0.6, label="training episodes, which explore")
    steps, means = run.evaluations
    mark = "o" if len(steps) == 1 else ""
    axes.plot(
        steps, means, color=look.colour, linestyle=look.linestyle, marker=mark, linewidth=2, label="mean of evaluations"
    )
    if alone:
        axes.fill_between(
            steps, run.lowest, run.highest, color=look.colour, alpha=0.15, linewidth=0, label="lowest to highest"
        )


def metrics_figure(names: Sequence[str], runs: Sequence[RunRecord], looks: Mapping[str, Look]) -> Figure:
    """Small multiples: a panel for each metric, a line for each run."""
    rows = ceil(len(names) / COLUMNS)
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(PAGE_WIDTH, 0.4 + 1.75 * rows), layout="constrained")
        grid = figure.subplots(rows, COLUMNS, squeeze=False)
        last = max(float(series.steps[-1]) for run in runs for series in run.metrics.values())
        for axes, name in zip(grid.flat, names, strict=False):
            for run in runs:
                series = run.metrics.get(name)
                if series is not None:
                    _draw_metric(axes, series.thinned(MOST_POINTS), looks[run.name])
            axes.set_title(name, fontsize=9.5, fontweight="bold", loc="left", pad=4)
            _finish(axes)
            axes.set_xlim(0, last)
        for axes in grid.flat[len(names) :]:
            axes.set_visible(False)
        if len(runs) > 1:
            add_legend(figure, {run.name for run in runs}, looks)
        figure.supxlabel("Training (environment steps)", fontsize=9.5)
    return figure


def _draw_metric(axes: Axes, series: Series, look: Look) -> None:
    mark = "o" if len(series.steps) == 1 else ""
    axes.plot(*series, color=look.colour, linestyle=look.linestyle, marker=mark, linewidth=1.3)


def _finish(axes: Axes) -> None:
    """Axes that begin at 0 where that is near, with few and plain numbers."""
    axes.margins(x=0)
    axes.set_xlim(left=0)
    low, high = axes.get_ylim()
    drawn = [np.asarray(line.get_ydata(), np.float64) for line in axes.get_lines()]
    values = np.concatenate(drawn) if drawn else np.zeros(0)
    if len(values) and values.min() >= 0 and low < 0.6 * high:
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x >= 1000 else f"{x:g}")
    axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
