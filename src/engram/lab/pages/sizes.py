"""What a larger memory buys: scores over memory sizes, as lines, as boxes, and as the memory that a score needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from engram.lab.pages.curves import add_legend
from engram.lab.pages.style import Look
from engram.lab.statistics import mean_interval
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.typing import Array

LEVELS = 60  # scores at which the memory needed is computed


@dataclass(frozen=True)
class Panel:
    """One agent: for each strategy and size the scores of its seeds."""

    title: str
    scores: Mapping[str, Mapping[int, Array]]  # strategy → size → [seeds]
    last: Mapping[str, Mapping[int, Array]] = field(default_factory=dict)  # the same with the last evaluations
    baselines: Mapping[str, float] = field(default_factory=dict)  # mean scores of agents without a memory, by label
    empty: frozenset[int] = frozenset()  # sizes at which no table ever filled


def score_by_size(panels: Sequence[Panel], looks: Mapping[str, Look], *, y_label: str) -> Figure:
    """The mean score over seeds at each size, with its 95 % t interval."""
    with mpl.rc_context(STYLE):
        figure, grid = _panels(panels)
        for axes, panel in zip(grid, panels, strict=True):
            for number, (name, by_size) in enumerate(panel.scores.items()):
                sizes = np.array(sorted(by_size))
                shift = 1.012 ** (number - len(panel.scores) / 2)  # so that intervals do not cover one another
                intervals = [mean_interval(by_size[size]) for size in sizes]
                means = np.array([each.estimate for each in intervals])
                colour, style = looks[name].colour, looks[name].linestyle
                axes.plot(
                    sizes * shift, means, color=colour, linestyle=style, marker="o", markersize=3.5, linewidth=1.5
                )
                known = np.array([each.bounded for each in intervals])
                bounds = np.array([[i.estimate - i.low, i.high - i.estimate] for i in intervals if i.bounded])
                if len(bounds):
                    axes.errorbar(
                        *((sizes * shift)[known], means[known], bounds.T),
                        fmt="none",
                        ecolor=colour,
                        alpha=0.5,
                        elinewidth=1.2,
                    )
            _draw_baselines(axes, panel, looks)
            _sizes_below(axes, panel)
        grid[0].set_ylabel(y_label)
        _legend(figure, panels, looks, baseline=True)
    return figure


def boxes(panels: Sequence[Panel], looks: Mapping[str, Look], *, y_label: str) -> Figure:
    """The returns of the last ten evaluations of all seeds: quartiles, and whiskers to the extremes."""
    with mpl.rc_context(STYLE):
        figure, grid = _panels(panels)
        for axes, panel in zip(grid, panels, strict=True):
            sizes = sorted({size for by_size in panel.last.values() for size in by_size})
            width = 0.8 / len(panel.last)
            for number, (name, by_size) in enumerate(panel.last.items()):
                places = [sizes.index(size) + (number + 0.5) * width - 0.4 for size in by_size]
                drawn = axes.boxplot(
                    list(by_size.values()),
                    positions=places,
                    widths=width * 0.8,
                    whis=(0, 100),
                    patch_artist=True,
                    manage_ticks=False,
                )
                for part in ("boxes", "whiskers", "caps", "medians"):
                    for artist in drawn[part]:
                        artist.set(color=looks[name].colour, linewidth=1.2)
                for box in drawn["boxes"]:
                    box.set(facecolor=mpl.colors.to_rgba(looks[name].colour, 0.25))
            _name_sizes(axes, panel, range(len(sizes)), sizes)
        grid[0].set_ylabel(y_label)
        _legend(figure, panels, looks)
    return figure


def memory_needed(panels: Sequence[Panel], looks: Mapping[str, Look], *, x_label: str) -> Figure:
    """The smallest memory with which a strategy's mean score reaches a level; a line ends where none does.

    Dots at both ends: a strategy that is best at its smallest size has a line of no length.
    """
    with mpl.rc_context(STYLE):
        figure, grid = _panels(panels, sharey=True)
        every = {size for panel in panels for by_size in panel.scores.values() for size in by_size}
        margin = (max(every) / min(every)) ** 0.05
        for axes, panel in zip(grid, panels, strict=True):
            axes.set_yscale("log")
            axes.set_ylim(min(every) / margin, max(every) * margin)
            for name, by_size in panel.scores.items():
                levels, needed = needed_memory({size: float(scores.mean()) for size, scores in by_size.items()})
                look = looks[name]
                axes.plot(
                    *(levels, needed),
                    color=look.colour,
                    linestyle=look.linestyle,
                    linewidth=1.8,
                    marker="o",
                    markersize=3.5,
                    markevery=[0, LEVELS - 1],
                )
            axes.set_xlabel(x_label)
            axes.set_yticks(sorted(every))
            axes.yaxis.set_major_formatter("{x:,.0f}")
            axes.yaxis.set_minor_locator(mpl.ticker.NullLocator())
        grid[0].set_ylabel("Entries per action needed")
        _legend(figure, panels, looks)
    return figure


def needed_memory(means: Mapping[int, float]) -> tuple[Array, Array]:
    """Scores, from the lowest to the highest, and the memory that each needs.

    Between two sizes the score is taken to grow with the logarithm of the size; a size that scores lower than a
    smaller one is of no use.
    """
    sizes = sorted(means)
    reached = np.maximum.accumulate([means[size] for size in sizes])
    useful = np.concatenate([[True], np.diff(reached) > 0])
    levels = np.linspace(reached[0], reached[-1], LEVELS)
    return levels, np.exp(np.interp(levels, reached[useful], np.log(sizes)[useful]))


def _panels(panels: Sequence[Panel], *, sharey: bool = True) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(PAGE_WIDTH, 3.5), layout="constrained")
    grid = list(figure.subplots(1, len(panels), sharey=sharey, squeeze=False)[0])
    for axes, panel in zip(grid, panels, strict=True):
        axes.set_title(panel.title, fontsize=10, fontweight="bold", loc="left")
    return figure, grid


def _draw_baselines(axes: Axes, panel: Panel, looks: Mapping[str, Look]) -> None:
    for name, score in panel.baselines.items():
        axes.axhline(score, color=looks[name].colour, linestyle=looks[name].linestyle, linewidth=1.4)


def _sizes_below(axes: Axes, panel: Panel) -> None:
    sizes = sorted({size for by_size in panel.scores.values() for size in by_size})
    axes.set_xscale("log")
    _name_sizes(axes, panel, sizes, sizes)
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())


def _name_sizes(axes: Axes, panel: Panel, places: Sequence[int], sizes: Sequence[int]) -> None:
    """Label the axis with the sizes, slanted, with a star where no table ever filled."""
    names = [f"{size:,}{'*' if size in panel.empty else ''}" for size in sizes]
    axes.set_xticks(places, names, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_xlabel("Entries per action")


def _legend(figure: Figure, panels: Sequence[Panel], looks: Mapping[str, Look], *, baseline: bool = False) -> None:
    names = {name for panel in panels for name in panel.scores}
    if baseline:
        names |= {name for panel in panels for name in panel.baselines}
    add_legend(figure, names, looks)
    figure.align_xlabels()
