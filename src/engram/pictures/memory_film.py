"""How a memory changed over training: one frame per snapshot, with the learning curve up to then."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from io import BytesIO

import numpy as np

from engram.agents import Agent
from engram.pictures.canvas import STYLE, Axes, Figure, mpl, png_of
from engram.pictures.colours import INK, LIT, SOFT, VALUES
from engram.pictures.entry_map import MARKS, Scales, draw_entries, draw_ground, grid_of, scales_of
from engram.pictures.plane import Plane, choose_plane
from engram.pictures.room_map import draw_arrows
from engram.pictures.scene import Scene, scene_of
from engram.runs.snapshots import Snapshot
from engram.typing import Array

WIDTH = 8.0  # inches
DPI = 100
MOST_FRAMES = 50
Curve = Sequence[tuple[int, float]]  # step and mean return of each evaluation


class MemoryFilm:
    """The frames of a film of one memory, all in the same scales."""

    def __init__(
        self, agent: Agent, snapshots: list[Snapshot], curve: Curve, *, title: str, axes: str | None = None
    ) -> None:
        every = -(-len(snapshots) // MOST_FRAMES)
        self.snapshots, self._curve = snapshots[::-every][::-1], curve  # the last of them in any case
        self._scene: Scene = scene_of(agent)
        self._plane: Plane = choose_plane(agent, self._scene, snapshots[-1], axes)
        self._scales: Scales = scales_of(snapshots, self._plane)
        self._title = title

    @property
    def caption(self) -> str:
        """What is to be seen."""
        is_room = self._scene.plan is not None
        words = [
            f"{'Arrows' if is_room else 'Dots'} are entries of the memory, coloured by value; those written longer "
            "ago are fainter."
        ]
        if self._curve:
            words.append(f"{'Beside' if is_room else 'Below'} them the mean return of evaluations up to then.")
        return " ".join([*words, *filter(None, [self._plane.note, MARKS if is_room else ""])])

    @cached_property
    def pngs(self) -> list[bytes]:
        """Every frame as a PNG."""
        return [png_of(self.figure(snapshot), dpi=DPI) for snapshot in self.snapshots]

    def frames(self) -> Iterator[Array]:
        """Every frame as an array [height, width, 3]; the last one stays for a while."""
        for number, png in enumerate(self.pngs, 1):
            for _ in range(1 if number < len(self.pngs) else 1 + number // 4):
                yield as_pixels(png)

    def figure(self, snapshot: Snapshot) -> Figure:
        """One frame."""
        with mpl.rc_context(STYLE):
            return self._of_room(snapshot) if self._scene.plan is not None else self._of_panels(snapshot)

    def _of_room(self, snapshot: Snapshot) -> Figure:
        """The room on the left, beside it the curve."""
        plan = self._scene.plan or ()
        figure = Figure(figsize=(WIDTH, 4.7))
        room = figure.add_axes((0.02, 0.03, 0.53, 0.85))
        size = 26 * (12 / max(len(plan), len(plan[0]))) ** 2
        draw_arrows(room, plan, snapshot, self._plane, self._scales, size=size)
        self._colours(figure, figure.add_axes((0.64, 0.17, 0.32, 0.03)), horizontal=True)
        if self._curve:
            self._draw_curve(figure.add_axes((0.64, 0.42, 0.32, 0.36)), snapshot)
        self._head(figure, snapshot)
        return figure

    def _of_panels(self, snapshot: Snapshot) -> Figure:
        """A panel per action, below them the curve."""
        count = len(snapshot.tables)
        rows, columns = grid_of(count)
        below = 1.95 if self._curve else 0.62  # inches
        height = 0.75 + below + 2.0 * rows - 0.5 + (0.9 if columns < 3 else 0)
        figure = Figure(figsize=(WIDTH, height))
        top, bottom = 1 - 0.75 / height, below / height
        grid = figure.add_gridspec(
            rows, columns, left=0.085, right=0.88, top=top, bottom=bottom, wspace=0.08, hspace=0.35
        )
        axes = grid.subplots(sharex=True, sharey=True, squeeze=False)
        for number, panel in enumerate(axes.flat):
            if number >= count:
                panel.set_axis_off()
                continue
            draw_ground(panel, self._scene, self._scales)
            draw_entries(panel, snapshot.tables[number], self._plane, self._scales, size=0.8)
            panel.set_title(f"{self._scene.actions[number]}  ({snapshot.sizes[number]:,})", fontsize=9, pad=4)
        figure.text(0.48, bottom - 0.42 / height, self._plane.labels[0], ha="center", fontsize=9)
        figure.text(0.012, (top + bottom) / 2, self._plane.labels[1], va="center", rotation=90, fontsize=9)
        self._colours(figure, figure.add_axes((0.905, bottom, 0.015, top - bottom)), horizontal=False)
        if self._curve:
            self._draw_curve(figure.add_axes((0.085, 0.45 / height, 0.795, 0.72 / height)), snapshot)
        self._head(figure, snapshot)
        return figure

    def _head(self, figure: Figure, snapshot: Snapshot) -> None:
        height = figure.get_figheight()
        figure.text(0.02, 1 - 0.22 / height, f"step {snapshot.step:,}", fontsize=13, weight="bold", va="center")
        figure.text(0.98, 1 - 0.22 / height, self._title, fontsize=8.5, va="center", ha="right", color=SOFT)

    def _colours(self, figure: Figure, axes: Axes, *, horizontal: bool) -> None:
        mapped = mpl.cm.ScalarMappable(mpl.colors.Normalize(*self._scales.values), VALUES)
        figure.colorbar(mapped, cax=axes, label="value", orientation="horizontal" if horizontal else "vertical")
        axes.tick_params(labelsize=8, length=2)

    def _draw_curve(self, axes: Axes, snapshot: Snapshot) -> None:
        """The mean return of the evaluations up to now, in the scales of the whole."""
        steps = [step for step, _ in self._curve]
        means = [mean for _, mean in self._curve]
        low, high = min(means), max(means)
        room = 0.08 * (high - low) or 0.5
        axes.set_xlim(0, max([1, self.snapshots[-1].step or 1, *steps]))
        axes.set_ylim(max(low - room, 0.0) if low >= 0 else low - room, high + room)
        now = [(step, mean) for step, mean in self._curve if step <= (snapshot.step or 0)]
        if now:
            axes.plot(*zip(*now, strict=True), color=INK, linewidth=1.4)
            axes.plot(*now[-1], marker="o", markersize=5, color=LIT, clip_on=False)
        axes.set_title("return in evaluations", fontsize=9, loc="left", pad=3)
        axes.set_xlabel("training steps", fontsize=8, labelpad=2)
        axes.tick_params(labelsize=8, length=2)
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda step, _: f"{step:,.0f}"))
        axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(4))


def as_pixels(png: bytes) -> Array:
    """A PNG as an array [height, width, 3]."""
    from PIL import Image  # noqa: PLC0415 (an extra)

    with Image.open(BytesIO(png)) as image:
        return np.array(image.convert("RGB"))
