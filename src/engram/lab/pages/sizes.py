"""What a larger memory buys: scores over memory sizes, and the memory that a score needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from engram.lab.memory_needed import needed_memory
from engram.lab.pages.curves import add_legend
from engram.lab.pages.numbers import interval_text
from engram.lab.pages.style import Look
from engram.lab.statistics import mean_interval
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import SOFT
from engram.pictures.lettering import wrapped
from engram.pictures.marks import mark
from engram.typing import Array

ROW_HEIGHT = 2.5  # inches
TITLE_LETTER, BESIDE = 0.08, 0.6  # inches: a letter of a title, and what is to the left of a panel
CHARACTER = 0.08  # inches that a character of a label takes; the gap to the next label takes one more


@dataclass(frozen=True)
class Panel:
    """One agent: for each strategy and size the scores of its seeds."""

    title: str
    scores: Mapping[str, Mapping[int, Array]]  # strategy → size → [seeds]
    baselines: Mapping[str, Array] = field(default_factory=dict)  # of agents without a memory, by label: [seeds]
    empty: frozenset[int] = frozenset()  # sizes at which no table ever filled

    @property
    def sizes(self) -> list[int]:
        """The sizes at which there is a score."""
        return sorted({size for by_size in self.scores.values() for size in by_size})

    @property
    def other_seeds(self) -> str:
        """The numbers of seeds of agents without a memory, where they are not those of the strategies."""
        own = {len(scores) for by_size in self.scores.values() for scores in by_size.values()}
        others = {name: len(scores) for name, scores in self.baselines.items()}
        return "".join(f"; {name} n = {count}" for name, count in others.items() if own != {count})

    @property
    def constant(self) -> float | None:
        """The one score that all runs of all strategies have, if there is only one."""
        every = np.concatenate([each for by_size in self.scores.values() for each in by_size.values()])
        return float(every[0]) if np.ptp(every) == 0 else None


def score_by_size(rows: Sequence[Sequence[Panel]], looks: Mapping[str, Look], *, y_label: str) -> Figure:
    """The mean score over seeds at each size, with its Student interval; a row for each environment."""
    with mpl.rc_context(STYLE):
        figure, grid = _panels(rows)
        for line, panels in zip(grid, rows, strict=True):
            for axes, panel in zip(line, panels, strict=False):
                if panel.constant is not None:
                    _say(axes, f"every run scores {panel.constant:g}")
                for number, (name, by_size) in enumerate(panel.scores.items()):
                    shift = 1.012 ** (number - len(panel.scores) / 2)  # so that intervals do not cover one another
                    _draw_means(axes, name, by_size, shift, looks[name])
                for name, scores in panel.baselines.items():
                    axes.axhline(
                        float(scores.mean()), color=looks[name].colour, linestyle=looks[name].linestyle, linewidth=1.4
                    )
                _entitle(axes, panel.title + panel.other_seeds)
                _sizes_below(axes, panel, last=panels is rows[-1])
                _shade_empty(axes, panel)
            line[0].set_ylim(*_span(panels))
            _name_rows(line, panels, y_label)
        _legend(figure, rows, looks, baseline=True)
    return figure


def _draw_means(axes: Axes, name: str, by_size: Mapping[int, Array], shift: float, look: Look) -> None:
    sizes = np.array(sorted(by_size))
    intervals = [mean_interval(by_size[size]) for size in sizes]
    means = [each.estimate for each in intervals]
    (line,) = axes.plot(
        sizes * shift, means, color=look.colour, linestyle=look.linestyle, marker="o", markersize=3.5, linewidth=1.5
    )
    pairs = zip(sizes, intervals, strict=True)
    mark(line, name, [f"{size:,} entries: {interval_text(each)}, n = {len(by_size[size])}" for size, each in pairs])
    known = [(size * shift, each) for size, each in zip(sizes, intervals, strict=True) if each.bounded]
    if known:
        bars = axes.vlines(
            [place for place, _ in known],
            [each.low for _, each in known],
            [each.high for _, each in known],
            color=look.colour,
            alpha=0.5,
            linewidth=1.2,
        )
        mark(bars, name)


def _span(panels: Sequence[Panel]) -> tuple[float, float]:
    """As far as means and their intervals go, with a margin, but not below 0 where no score is.

    Intervals of few seeds may go far beyond all scores, and are cut off there.
    """
    cells = [each for panel in panels for by_size in panel.scores.values() for each in by_size.values()]
    every = np.concatenate(cells)
    intervals = [mean_interval(each) for each in cells]
    ends = [end for each in intervals for end in (each if each.bounded else [each.estimate])]
    others = [float(scores.mean()) for panel in panels for scores in panel.baselines.values()]
    drawn = np.array([*np.clip(ends, every.min(), every.max()), *others])
    margin = 0.05 * float(np.ptp(drawn)) or 0.5
    low = float(drawn.min()) - margin
    return max(low, 0.0) if drawn.min() >= 0 else low, float(drawn.max()) + margin


def memory_needed(rows: Sequence[Sequence[Panel]], looks: Mapping[str, Look], *, x_label: str) -> Figure:
    """The smallest memory with which a strategy's mean score reaches a level; a line ends where none does.

    Dots at both ends: a strategy that is best at its smallest size has a line of no length.
    """
    with mpl.rc_context(STYLE):
        figure, grid = _panels(rows, sharex="row")
        for across, panels in zip(grid, rows, strict=True):
            every = sorted({size for panel in panels for size in panel.sizes})
            margin = (max(every) / min(every)) ** 0.05
            for axes, panel in zip(across, panels, strict=False):
                axes.set_yscale("log")
                axes.set_ylim(min(every) / margin, max(every) * margin)
                for name, by_size in panel.scores.items():
                    needed = needed_memory({size: float(scores.mean()) for size, scores in by_size.items()})
                    (line,) = axes.plot(
                        needed.scores,
                        needed.sizes,
                        color=looks[name].colour,
                        linestyle=looks[name].linestyle,
                        linewidth=1.8,
                        marker="o",
                        markersize=3.5,
                        markevery=[0, len(needed.scores) - 1],
                    )
                    levels = zip(needed.scores, needed.sizes, strict=True)
                    mark(line, name, [f"{score:.3g} needs {size:,.0f} entries" for score, size in levels])
                axes.set_xlabel(x_label if panels is rows[-1] else "")
                axes.set_yticks(every)
                axes.yaxis.set_major_formatter("{x:,.0f}")
                axes.yaxis.set_minor_locator(mpl.ticker.NullLocator())
            _name_rows(across, panels, "Entries per action needed")
        _legend(figure, rows, looks)
    return figure


def _panels(
    rows: Sequence[Sequence[Panel]], *, sharex: Literal["none", "row"] = "none"
) -> tuple[Figure, list[list[Axes]]]:
    """A grid of axes; those of a row share the vertical axis."""
    columns = max(map(len, rows))
    figure = Figure(figsize=(PAGE_WIDTH, 0.9 + ROW_HEIGHT * len(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, sharex=sharex, sharey="row", squeeze=False)
    for line, panels in zip(grid, rows, strict=True):
        for i, axes in enumerate(line):
            if i < len(panels):
                _entitle(axes, panels[i].title)
            else:
                axes.set_visible(False)
    return figure, [list(line) for line in grid]


def _entitle(axes: Axes, title: str) -> None:
    """Write a panel's title, in lines that are no longer than it is wide."""
    letters = int((_width(axes) - BESIDE) / TITLE_LETTER)
    axes.set_title(wrapped(title, letters), fontsize=10, fontweight="bold", loc="left")


def _width(axes: Axes) -> float:
    """How much of the page a panel has, in inches."""
    grid = axes.get_gridspec()
    return PAGE_WIDTH / (grid.ncols if grid else 1)


def _name_rows(line: Sequence[Axes], panels: Sequence[Panel], name: str) -> None:
    """Give every panel of a row the name and the numbers of its axis, as columns stand alone on a phone."""
    for axes, _ in zip(line, panels, strict=False):
        axes.set_ylabel(name)
        axes.tick_params(labelleft=True)


def _say(axes: Axes, text: str) -> None:
    axes.text(0.5, 0.6, text, transform=axes.transAxes, ha="center", va="center", color=SOFT, fontsize=9)


def _sizes_below(axes: Axes, panel: Panel, *, last: bool) -> None:
    """Label the axis with the sizes that have room, starred where no table ever filled; the last row has a name."""
    names = [f"{_short(size)}{'*' if size in panel.empty else ''}" for size in panel.sizes]
    width = 0.8 * _width(axes)  # without the labels of the other axis, about
    shown = with_room(panel.sizes, [CHARACTER * (len(name) + 1) / width for name in names])
    axes.set_xscale("log")
    axes.set_xticks(panel.sizes, [name if size in shown else "" for size, name in zip(panel.sizes, names, strict=True)])
    axes.set_xlabel("Entries per action" if last else "")
    axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())


def with_room(sizes: Sequence[int], widths: Sequence[float]) -> set[int]:
    """The first and the last size, and those between them whose labels fit on a logarithmic axis of width 1."""
    span = np.log(sizes[-1] / sizes[0]) or 1.0
    middles = [float(np.log(size / sizes[0]) / span) for size in sizes]
    shown = {sizes[0], sizes[-1]}
    end = middles[0] + widths[0] / 2
    for size, middle, width in zip(sizes[1:-1], middles[1:-1], widths[1:-1], strict=True):
        if middle - width / 2 >= end and middle + width / 2 <= middles[-1] - widths[-1] / 2:
            shown.add(size)
            end = middle + width / 2
    return shown


def _short(size: int) -> str:
    """1,000 as 1k."""
    return f"{size / 1_000:g}k" if size >= 1_000 and size % 100 == 0 else f"{size:,}"


def _shade_empty(axes: Axes, panel: Panel) -> None:
    """Shade the sizes from which on no table filled."""
    full = [size for size in panel.sizes if size not in panel.empty]
    if not panel.empty or (full and max(full) > min(panel.empty)):
        return
    left, right = axes.get_xlim()
    start = (max(full) * min(panel.empty)) ** 0.5 if full else left
    axes.axvspan(start, right, color=SOFT, alpha=0.12, linewidth=0, zorder=0)
    axes.set_xlim(left, right)


def _legend(
    figure: Figure, rows: Sequence[Sequence[Panel]], looks: Mapping[str, Look], *, baseline: bool = False
) -> None:
    panels = [panel for row in rows for panel in row]
    names = {name for panel in panels for name in panel.scores}
    if baseline:
        names |= {name for panel in panels for name in panel.baselines}
    add_legend(figure, names, looks)
    figure.align_xlabels()
