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
from engram.pictures.canvas import STYLE, Figure, mpl
from engram.typing import Array, Doubles

try:
    from matplotlib.colors import PowerNorm
    from scipy.stats import gaussian_kde
except ModuleNotFoundError as error:
    raise MissingExtraError('figures of densities need scipy: pip install "engram-rl[report]"') from error

NAMES = {"data": "data", "batch": "k-means", **LABELS}
ORDER = ("data", "batch", "kmeans", "dkm", "lru")  # from what was there to what is left of it
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
    to_all: float | None = None  # energy distance to the whole stream


def read_snapshots(folder: Path) -> list[Snapshot]:
    """The points of the first seed in the study's folder, and their distances."""
    points: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for row in _rows(folder / "points.csv"):
        points.setdefault((row["method"], float(row["fraction"])), []).append((float(row["x"]), float(row["y"])))
    distances: dict[tuple[str, float], float] = {}
    for row in _rows(folder / "distances.csv"):
        distances.setdefault((row["method"], float(row["fraction"])), float(row["to_all"]))
    return [Snapshot(*key, np.array(some), distances.get(key)) for key, some in points.items()]


def densities(snapshots: Sequence[Snapshot]) -> Figure:
    """What each method keeps of the whole stream, beside the stream."""
    ended = {snapshot.method: snapshot for snapshot in snapshots if snapshot.fraction == 1}
    chosen = [ended[method] for method in ORDER if method in ended]
    return _heat_maps(chosen, [NAMES[snapshot.method] for snapshot in chosen], _window(snapshots))


def evolution(snapshots: Sequence[Snapshot], *, method: str = "dkm") -> Figure:
    """What one method keeps as it sees more and more of the stream."""
    chosen = sorted((some for some in snapshots if some.method == method), key=lambda some: some.fraction)
    titles = [f"{NAMES.get(method, method)}, {snapshot.fraction:.0%}" for snapshot in chosen]
    return _heat_maps(chosen, titles, _window(snapshots))


def _heat_maps(snapshots: Sequence[Snapshot], titles: Sequence[str], window: Doubles) -> Figure:
    if not snapshots:
        raise InvalidInputError("nothing to draw: there are no points of the methods asked for")
    (left, bottom), (right, top) = window
    xs, ys = (low + (np.arange(CELLS) + 0.5) / CELLS * (high - low) for low, high in window.T)
    where = np.stack([axis.ravel() for axis in np.meshgrid(xs, ys)])  # [2, CELLS²]
    maps = [gaussian_kde(snapshot.points.T)(where).reshape(CELLS, CELLS) for snapshot in snapshots]
    norm = PowerNorm(0.5, vmin=0, vmax=float(np.max(maps)))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(7.2, 7.2 / len(maps) + 0.35), layout="compressed")
        row = figure.subplots(1, len(maps), sharex=True, sharey=True, squeeze=False)[0]
        image: Any = None
        for axes, snapshot, title, density in zip(row, snapshots, titles, maps, strict=True):
            image = axes.imshow(density, origin="lower", extent=(left, right, bottom, top), cmap="viridis", norm=norm)
            axes.scatter(*snapshot.points.T, s=min(2.2, 35 / len(snapshot.points) ** 0.5), **DOT)
            axes.set_xlim(left, right)
            axes.set_ylim(bottom, top)
            axes.set_xticks([])
            axes.set_yticks([])
            axes.spines[:].set_visible(False)
            below = "" if snapshot.to_all is None else f"E = {snapshot.to_all:.4f}"
            axes.set_title(below, fontsize=8.5, pad=3)
            axes.annotate(title, (0.5, 1), (0, 16), "axes fraction", "offset points", ha="center", fontweight="bold")
        bar = figure.colorbar(image, ax=row, pad=0.01, aspect=18)
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
