"""Heat maps of the points that each method keeps of the stream, as in the paper's appendix.

Every panel has its own kernel density estimate (Gaussian, Scott's bandwidth), as in the paper; all panels share the
window and the scale of colours, which goes with the root of the density: thin regions show beside dense ones.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engram.errors import InvalidInputError, MissingExtraError
from engram.lab.labels import LABELS
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Figure, mpl
from engram.typing import Array, Doubles

try:
    from matplotlib.colors import PowerNorm
    from scipy.stats import gaussian_kde
except ModuleNotFoundError as error:
    raise MissingExtraError('figures of densities need scipy: pip install "engram-rl[report]"') from error

NAMES = {"data": "data", "batch": "k-means", **LABELS}
ORDER = ("data", "batch", "kmeans", "fading", "dkm", "lru")  # from what was there to what is left of it
ONLINE = ORDER[2:]  # those that see one point after the other, from the one that forgets least
CELLS = 128  # of a heat map, along each side
MARGIN = 0.12  # around the points, in half lengths of their range
DOT: dict[str, Any] = {"color": "white", "edgecolors": "black", "linewidths": 0.25}  # shows on every colour
CAPTION = "E is the energy distance to the whole stream, 0 for the same distribution. Each density is fit separately."


@dataclass(frozen=True)
class Snapshot:
    """The points that one method keeps after a part of a stream."""

    method: str  # a strategy's name, "batch" for k-means on all data, or "data" for the stream itself
    fraction: float  # of the stream that it has seen
    points: Array  # [n, 2]
    length: int = 0  # of the stream, in points
    to_all: float | None = None  # energy distance to the whole stream


def read_snapshots(folder: Path) -> list[Snapshot]:
    """The points of the first seed in the study's folder, and their distances."""
    points: dict[tuple[str, float, int], list[tuple[float, float]]] = {}
    for row in _rows(folder / "points.csv"):
        points.setdefault(_key(row), []).append((float(row["x"]), float(row["y"])))
    distances: dict[tuple[str, float, int], float] = {}
    for row in (*_rows(folder / "distances.csv"), *_rows(folder / "times.csv")):
        distances.setdefault(_key(row), float(row["to_all"]))
    return [Snapshot(key[0], key[1], np.array(some), key[2], distances.get(key)) for key, some in points.items()]


def _key(row: dict[str, str]) -> tuple[str, float, int]:
    return row["method"], float(row["fraction"]), int(row["points"])


def densities(snapshots: Sequence[Snapshot]) -> Figure:
    """What each method keeps of the whole stream, beside the stream."""
    ended = {snapshot.method: snapshot for snapshot in snapshots if snapshot.fraction == 1}
    chosen = [ended[method] for method in ORDER if method in ended]
    return _heat_maps([chosen], [NAMES[snapshot.method] for snapshot in chosen], [""])


def evolution(snapshots: Sequence[Snapshot]) -> Figure:
    """What each strategy keeps as it sees more and more of the stream: a row for each, a column for each time."""
    there = {(snapshot.method, snapshot.fraction): snapshot for snapshot in snapshots if snapshot.method in ONLINE}
    times = sorted({fraction for _, fraction in there})
    rows = [method for method in ONLINE if all((method, time) in there for time in times)]
    chosen = [[there[method, time] for time in times] for method in rows]
    length = max((snapshot.length for snapshot in there.values()), default=0)
    return _heat_maps(chosen, [f"{round(time * length):,} points" for time in times], [NAMES[each] for each in rows])


def _heat_maps(snapshots: Sequence[Sequence[Snapshot]], above: Sequence[str], beside: Sequence[str]) -> Figure:
    """A panel for each snapshot, with words above the columns and beside the rows."""
    if not snapshots or not snapshots[0]:
        raise InvalidInputError("nothing to draw: there are no points of the methods asked for")
    window = _window([each for row in snapshots for each in row])
    (left, bottom), (right, top) = window
    xs, ys = (low + (np.arange(CELLS) + 0.5) / CELLS * (high - low) for low, high in window.T)
    where = np.stack([axis.ravel() for axis in np.meshgrid(xs, ys)])  # [2, CELLS²]
    maps = [[gaussian_kde(each.points.T)(where).reshape(CELLS, CELLS) for each in row] for row in snapshots]
    norm = PowerNorm(0.5, vmin=0, vmax=float(np.max(maps)))
    with mpl.rc_context(STYLE):
        side = PAGE_WIDTH / len(above)
        figure = Figure(figsize=(PAGE_WIDTH, side * len(beside) + 0.35), layout="compressed")
        panels = figure.subplots(len(beside), len(above), sharex=True, sharey=True, squeeze=False)
        image: Any = None
        for i, row in enumerate(snapshots):
            for j, snapshot in enumerate(row):
                axes = panels[i, j]
                image = axes.imshow(
                    maps[i][j], origin="lower", extent=(left, right, bottom, top), cmap="viridis", norm=norm
                )
                axes.scatter(*snapshot.points.T, s=min(2.2, 35 / len(snapshot.points) ** 0.5), **DOT)
                axes.set_xlim(left, right)
                axes.set_ylim(bottom, top)
                axes.set_xticks([])
                axes.set_yticks([])
                axes.spines[:].set_visible(False)
                below = "" if snapshot.to_all is None else f"E = {snapshot.to_all:.4f}"
                axes.set_title(below, fontsize=8.5, pad=3)
            panels[i, 0].set_ylabel(beside[i], fontweight="bold", fontsize=12)
        for axes, text in zip(panels[0], above, strict=True):
            axes.annotate(text, (0.5, 1), (0, 16), "axes fraction", "offset points", ha="center", fontweight="bold")
        bar = figure.colorbar(image, ax=panels, pad=0.01, aspect=18 * len(beside))
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8, length=2)
        bar.set_label("density", fontsize=8.5)
    return figure


def _window(snapshots: Sequence[Snapshot]) -> Doubles:
    """The lower left and upper right corner of the square that all panels show, [2, 2]."""
    points = np.concatenate([snapshot.points for snapshot in snapshots])
    middle, half = (points.max(axis=0) + points.min(axis=0)) / 2, np.ptp(points, axis=0).max() / 2
    return np.stack([middle - (1 + MARGIN) * half, middle + (1 + MARGIN) * half])


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))
