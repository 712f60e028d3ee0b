"""A room's memory in one panel: every entry is an arrow of its action, in the cell where it lies."""

import numpy as np

from engram.envs.rooms import MOVES
from engram.pictures.canvas import Axes, mpl
from engram.pictures.colours import VALUES
from engram.pictures.entry_map import Scales, draw_room, opacities
from engram.pictures.plane import Plane
from engram.runs.snapshots import Snapshot

ARROWS = dict(zip(MOVES, "^>v<", strict=True))  # markers of matplotlib
ASIDE = 0.27  # cells, by which an arrow lies off the middle of its cell, the way it points


def draw_arrows(
    axes: Axes, plan: tuple[str, ...], snapshot: Snapshot, plane: Plane, scales: Scales, *, size: float
) -> None:
    """The room with its entries; `size` is the area of an arrow, in square points."""
    draw_room(axes, plan)
    for move, table in zip(MOVES, snapshot.tables, strict=True):
        places = plane.place(table) + ASIDE * np.array(move)
        axes.scatter(
            places[:, 0],
            places[:, 1],
            c=table.values,
            marker=ARROWS[move],
            s=size,
            alpha=opacities(table, scales).tolist() or None,
            cmap=VALUES,
            norm=mpl.colors.Normalize(*scales.values),
            linewidths=0,
            zorder=3,
        )
