"""Figures of single runs: returns over training, and one metric as a small panel."""

from collections.abc import Mapping, Sequence

import numpy as np

from engram.lab.pages.stripes import Stroke, same_lines, strokes
from engram.lab.pages.style import COLOURS, DASHES, OTHER_COLOURS, PLAIN, Look
from engram.lab.run_record import RunRecord, Series
from engram.pictures.canvas import STYLE, Axes, Figure, mpl
from engram.pictures.colours import SOFT
from engram.pictures.marks import mark

ORDER = ("dkm", "lru", "kmeans", "sur", "rew", "fading", "adaptive")  # of the colours: the easiest to tell apart first
MOST_POINTS = 200  # of a line
MOST_DOTS = 2_000  # of training episodes
LEGEND_COLUMNS = 3
PANEL = (3.3, 1.75)  # inches
EPISODES, BAND = "training episodes", "lowest to highest"  # in the legend of a run that is drawn alone


def run_looks(names: Sequence[str]) -> dict[str, Look]:
    """A colour for each run, and dashes where there are more runs than colours."""
    colours = [*(COLOURS[name] for name in ORDER), *OTHER_COLOURS]
    return {
        name: Look(colours[i % len(colours)], DASHES[i // len(colours) % len(DASHES)]) for i, name in enumerate(names)
    }


def returns_figure(
    runs: Sequence[RunRecord], looks: Mapping[str, Look], *, title: str = "", size: tuple[float, float] = (6.8, 4.0)
) -> Figure:
    """Returns over training; a run that has the figure to itself is drawn with its training episodes."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        if len(runs) == 1:
            _draw_alone(axes, runs[0], looks[runs[0].name], label=runs[0].name if title else "evaluations, mean")
        else:
            found = {run.name: run.evaluations for run in runs}
            for name, stroke in strokes(found, looks, PLAIN).items():
                _draw_line(axes, found[name], looks[name].colour, stroke, width=2, name=name)
                axes.plot([], [], color=looks[name].colour, linestyle=looks[name].linestyle, linewidth=2, label=name)
        axes.set_ylabel("Return per episode")
        axes.set_xlabel("Training (environment steps)")
        _finish(axes)
        if title:
            axes.set_title(title, fontsize=10.5, fontweight="bold", loc="left")
        handles, labels = axes.get_legend_handles_labels()
        if handles:
            columns = min(LEGEND_COLUMNS, len(handles))
            figure.legend(handles, labels, loc="outside upper left", ncols=columns, frameon=False, fontsize=9)
    return figure


def returns_caption(runs: Sequence[RunRecord]) -> str:
    """What is to be seen in that figure."""
    if len(runs) > 1:
        found = {run.name: run.evaluations for run in runs}
        equal = [f"{', '.join(names[:-1])} and {names[-1]}" for names in same_lines(found) if len(names) > 1]
        striped = f" Striped, because they lie on each other: {'; '.join(equal)}." if equal else ""
        return f"A line for each run: the mean return of the episodes of each evaluation.{striped}"
    (run,) = runs
    said = ["The line is the mean return of the episodes of each evaluation"] if len(run.evaluations.steps) else []
    said += ["the band goes from the lowest to the highest of them"] if _has_band(run) else []
    if episodes := len(run.episodes.steps):
        each = "" if episodes <= MOST_DOTS else f", each the mean of about {round(episodes / MOST_DOTS):,} in a row"
        said.append(f"dots are episodes of training, which explore{each}")
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def _has_band(run: RunRecord) -> bool:
    return len(run.evaluations.steps) > 1 and bool((run.lowest < run.highest).any())


def _draw_alone(axes: Axes, run: RunRecord, look: Look, *, label: str) -> None:
    """Training episodes as dots, evaluations as a line with a band."""
    if len(run.episodes.steps):
        dots = run.episodes.thinned(MOST_DOTS)
        (drawn,) = axes.plot(*dots, ".", color=SOFT, markersize=3, alpha=0.6, label=EPISODES)
        mark(drawn, EPISODES)
    if _has_band(run):
        area = axes.fill_between(
            run.evaluations.steps, run.lowest, run.highest, color=look.colour, alpha=0.15, linewidth=0, label=BAND
        )
        mark(area, BAND)
    if len(run.evaluations.steps):
        _draw_line(axes, run.evaluations, look.colour, Stroke(look.linestyle, 2.0), width=2, label=label, name=label)


def metric_panel(name: str, series: Mapping[str, Sequence[Series]], looks: Mapping[str, Look], last: float) -> Figure:
    """One metric over training up to `last` steps, for each run one line, or one for each action's table."""
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=PANEL)
        axes = figure.add_axes((0.15, 0.16, 0.8, 0.68))
        longest = max(len(lines) for lines in series.values())
        for number in range(longest):
            found = {run: lines[number].thinned(MOST_POINTS) for run, lines in series.items() if number < len(lines)}
            for run, stroke in strokes(found, looks, PLAIN).items():
                width = 1.4 if longest == 1 else 0.9
                _draw_line(axes, found[run], looks[run].colour, stroke, width=width)
        axes.set_title(name, fontsize=10, fontweight="bold", loc="left", pad=5)
        _finish(axes)
        axes.set_xlim(0, last)
    return figure


def _draw_line(
    axes: Axes, series: Series, colour: str, stroke: Stroke, *, width: float, label: str = "", name: str = ""
) -> None:
    """One line, of the series of that name in the legend; a series of one point is a dot."""
    point = "o" if len(series.steps) == 1 else ""
    (line,) = axes.plot(*series, color=colour, linestyle=stroke.style, marker=point, linewidth=width)
    line.set(zorder=stroke.height, **({"label": label} if label else {}))
    if name:
        mark(line, name)


def _finish(axes: Axes) -> None:
    """Axes that begin at 0 where that is near, with few and plain numbers."""
    axes.margins(x=0, y=0.06)
    axes.set_xlim(left=0)
    low, high = axes.get_ylim()
    drawn = [np.asarray(line.get_ydata(), np.float64) for line in axes.get_lines()]
    values = np.concatenate(drawn) if drawn else np.zeros(0)
    if len(values) and values.min() >= 0 and low < 0.75 * high:
        axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(lambda x, _: steps_text(x))
    axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))


def steps_text(steps: float) -> str:
    """A number of steps on an axis: 500, 2.5k, 1M."""
    if steps >= 1_000_000:
        return f"{steps / 1_000_000:g}M"
    return f"{steps / 1_000:g}k" if steps >= 1_000 else f"{steps:g}"
