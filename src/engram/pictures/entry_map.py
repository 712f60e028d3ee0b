"""A map of a memory's entries: one panel per action, coloured by value, sized by count and faded by age."""

from typing import Any, NamedTuple

import numpy as np

from engram.envs.rooms import GOAL, START
from engram.envs.rooms import WALL as WALL_MARK
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import INK, LETTER, LINE, PAPER, VALUES, WALL
from engram.pictures.picture import Picture
from engram.pictures.plane import Plane, spread_out
from engram.pictures.scene import Scene
from engram.runs.snapshots import Entries, Snapshot
from engram.typing import Doubles

DRAWN = 1_500  # entries, at most, in a panel
COLUMNS = 4  # panels in a row, at most
FAINTEST = 0.35  # opacity of the oldest entries
SMALLEST, LARGEST = 26.0, 150.0  # area of a dot, in square points
MARKS = "S is the start, G the goal."  # of a room


class Scales(NamedTuple):
    """What colours, sizes and edges mean, the same in all panels and in all frames of a film."""

    values: tuple[float, float]
    largest_count: float
    oldest: float  # age at which an entry is faintest
    edges: tuple[float, float, float, float]  # left, right, bottom, top


def scales_of(snapshots: list[Snapshot], plane: Plane) -> Scales:
    """Scales that fit all of these snapshots."""
    tables = [table for snapshot in snapshots for table in snapshot.tables if len(table.values)]
    values = [bound(table.values) for table in tables] or [(0.0, 1.0)]
    low, high = min(low for low, _ in values), max(high for _, high in values)
    counts = [float(table.counts.max()) for table in tables if table.counts is not None]
    ages = [float(table.ages.max()) for table in tables if table.ages is not None]
    places = np.concatenate([plane.place(table) for table in tables]) if tables else np.zeros((1, 2))
    (left, bottom), (right, top) = _edges(places)
    across, up = 0.04 * (right - left) or 0.5, 0.06 * (top - bottom) or 0.5
    edges = (float(left - across), float(right + across), float(bottom - up), float(top + up))
    return Scales((low, high if high > low else low + 1), max(counts, default=1), max(ages, default=0), edges)


def _edges(places: Doubles) -> Doubles:
    """The lowest and the highest coordinates that are shown: of all places, or without a few that lie far off."""
    low, high = np.percentile(places, [1, 99], axis=0)
    beyond = 0.5 * (high - low)
    return np.stack([np.maximum(places.min(axis=0), low - beyond), np.minimum(places.max(axis=0), high + beyond)])


def bound(values: Any) -> tuple[float, float]:
    """The lowest and the highest of some values."""
    return float(np.min(values)), float(np.max(values))


def map_picture(snapshot: Snapshot, scene: Scene, plane: Plane, *, merges: bool) -> Picture:
    """The map as a picture with its caption; counts are of states merged if the memory `merges`, else of writes."""
    scales = scales_of([snapshot], plane)
    has_counts = scales.largest_count > 1
    has_ages = any(table.ages is not None for table in snapshot.tables)
    words = ["Every dot is an entry of the memory, in the panel of its action; its colour is the stored value."]
    counted = "have more states merged into them" if merges else "were written more often"
    words += [f"Larger dots {counted}."] if has_counts else []
    words += [f"Fainter ones were written longer ago, up to {scales.oldest:,.0f} steps."] if has_ages else []
    words += [plane.note] if plane.note else []
    words += [MARKS] if scene.plan is not None else []
    shown = max(len(table.values) for table in snapshot.tables)
    if shown > DRAWN or any(len(t.values) < n for t, n in zip(snapshot.tables, snapshot.sizes, strict=True)):
        words.append(f"Of larger tables {min(shown, DRAWN):,} entries are shown, at equal distances.")
    figure = map_figure(snapshot, scene, plane, scales)
    return Picture("entries", "What the memory holds", " ".join(words), figure)


def grid_of(count: int) -> tuple[int, int]:
    """Rows and columns of so many panels, such that the last row is about as long as the others."""
    rows = -(-count // COLUMNS)
    return rows, -(-count // rows)


def map_figure(snapshot: Snapshot, scene: Scene, plane: Plane, scales: Scales, *, width: float = PAGE_WIDTH) -> Figure:
    """A panel per action and a bar of colours."""
    count = len(snapshot.tables)
    rows, columns = grid_of(count)
    shape = 0.85 if scene.plan is None else len(scene.plan) / len(scene.plan[0])  # height of a panel by its width
    panel = (width - 1.1) / max(columns, 2)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, rows * (panel * shape + (0.45 if scene.plan else 0.62)) + 0.1))
        figure.set_layout_engine("constrained", h_pad=0.07)
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        dots: Any = None
        for number, panel_axes in enumerate(axes.flat):
            if number >= count:
                panel_axes.set_axis_off()
                continue
            draw_ground(panel_axes, scene, scales)
            dots = draw_entries(panel_axes, snapshot.tables[number], plane, scales)
            size = f"{snapshot.sizes[number]:,} of {snapshot.capacity:,}"
            panel_axes.set_title(f"{scene.actions[number]}  ({size})", fontsize=10)
        if scene.plan is None:
            figure.supxlabel(plane.labels[0], fontsize=10, color=INK)
            figure.supylabel(plane.labels[1], fontsize=10, color=INK)
        figure.colorbar(dots, ax=axes, label="value", aspect=30, pad=0.015, fraction=0.04)
    return figure


def draw_entries(axes: Axes, entries: Entries, plane: Plane, scales: Scales, *, size: float = 1.0) -> Any:
    """The dots of one table, the oldest below; what a bar of colours can be made of."""
    entries = entries.at(spread_out(len(entries.values), DRAWN))
    opacity = opacities(entries, scales)
    order = np.argsort(opacity, kind="stable")
    entries, opacity = entries.at(order), opacity[order]
    left, right, bottom, top = scales.edges
    places = np.clip(plane.place(entries), (left, bottom), (right, top))
    crowded = 1.0 if len(entries.values) < 300 else 0.5
    opacity_of_each: Any = opacity if len(opacity) else None
    return axes.scatter(
        places[:, 0],
        places[:, 1],
        c=entries.values,
        s=areas(entries, scales) * size * crowded,
        alpha=opacity_of_each,
        cmap=VALUES,
        norm=mpl.colors.Normalize(*scales.values),
        linewidths=0,
        zorder=3,
    )


def areas(entries: Entries, scales: Scales) -> Doubles:
    """The area of each dot: it grows with the logarithm of the count."""
    if entries.counts is None or scales.largest_count <= 1:
        return np.full(len(entries.values), 1.6 * SMALLEST)
    share = np.log(np.maximum(entries.counts, 1)) / np.log(scales.largest_count)
    return np.asarray(SMALLEST + (LARGEST - SMALLEST) * np.clip(share, 0, 1), np.float64)


def opacities(entries: Entries, scales: Scales) -> Doubles:
    """How opaque each dot is: 1 if it was written just now."""
    if entries.ages is None or scales.oldest <= 0:
        return np.full(len(entries.values), 0.95)
    return np.asarray(np.maximum(FAINTEST, np.exp(-4 * entries.ages / scales.oldest)), np.float64)


def draw_ground(axes: Axes, scene: Scene, scales: Scales) -> None:
    """What entries lie on: the floor of a room, or plain axes."""
    if scene.plan is not None:
        draw_room(axes, scene.plan)
        return
    left, right, bottom, top = scales.edges
    axes.set_xlim(left, right)
    axes.set_ylim(bottom, top)
    ground = mpl.patches.Rectangle((0, 0), 1, 1, transform=axes.transAxes, color=PAPER, linewidth=0, zorder=0)
    axes.add_patch(ground)  # so that dark values show on a dark page
    axes.grid(color=LINE, linewidth=0.5, alpha=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=8, length=2)


def draw_room(axes: Axes, plan: tuple[str, ...], *, marks: bool = True) -> None:
    """Walls, lines between cells, and the letters of start and goal: no entry lies on the goal."""
    walls: list[Any] = []
    floor: list[Any] = []
    for y, row in enumerate(plan):
        for x, mark in enumerate(row):
            (walls if mark == WALL_MARK else floor).append(mpl.patches.Rectangle((x - 0.5, y - 0.5), 1, 1))
            if marks and mark == GOAL:
                axes.text(x, y, mark, ha="center", va="center", fontsize=9, color=LETTER, weight="bold")
            if marks and mark == START:
                draw_start(axes, x, y)
    axes.add_collection(mpl.collections.PatchCollection(walls, color=WALL, linewidth=0.7))
    axes.add_collection(mpl.collections.PatchCollection(floor, facecolor=PAPER, edgecolor=LINE, linewidth=0.5))
    axes.set_xlim(-0.5, len(plan[0]) - 0.5)
    axes.set_ylim(len(plan) - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_axis_off()


def draw_start(axes: Axes, x: float, y: float) -> None:
    """The letter of the start in a corner of its cell, above whatever lies there."""
    halo = mpl.patheffects.withStroke(linewidth=1.6, foreground=PAPER)
    axes.text(
        *(x - 0.44, y - 0.42, START), ha="left", va="top", fontsize=7.5, color=LETTER, weight="bold", zorder=5,
        path_effects=[halo],
    )  # fmt: skip
