"""A figure of what ideas gain: a bar for the mean, a dot for each game."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engram.paper.atari100k.games import title_of
from engram.pictures.canvas import STYLE, Figure, mpl
from engram.pictures.colours import SOFT
from engram.pictures.marks import mark

UP, DOWN = "#0072B2", "#D55E00"
WIDTH, ROW, ABOVE_ROWS = 6.4, 0.27, 0.8  # inches


class Row(NamedTuple):
    """One idea, or several together."""

    label: str
    mean: float
    by_game: Mapping[str, float]
    seeds: int


def gains_figure(rows: Sequence[Row]) -> Figure:
    """A line for each row, in their order."""
    with mpl.rc_context({**STYLE, "font.size": 9}):
        figure = Figure(figsize=(WIDTH, ABOVE_ROWS + ROW * len(rows)), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            colour = UP if row.mean > 0 else DOWN
            (bar,) = axes.barh([place], [row.mean], height=0.5, color=colour, alpha=0.35)
            mark(bar, row.label)
            games, gains = zip(*row.by_game.items(), strict=True)
            (dots,) = axes.plot(gains, [place] * len(gains), "o", markersize=4, color=colour)
            mark(dots, row.label, [f"{title_of(game)}: {gain:+.3f}" for game, gain in zip(games, gains, strict=True)])
        axes.axvline(0, color=SOFT, linewidth=1, zorder=0)
        axes.set_yticks(range(len(rows)), [row.label for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel("Gain in human-normalised score")
    return figure
