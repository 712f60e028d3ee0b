"""Learning curves: how the return of evaluations grows with the steps of training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from engram.errors import MissingExtraError
from engram.report.style import INK, Look
from engram.training.disk import write_atomically
from engram.training.folder import RunFolder
from engram.typing import Array

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise MissingExtraError('figures need matplotlib: pip install "engram-rl[plot]"') from error

BAND = "± one standard error of the mean over seeds"
LABEL_GAP = 0.055  # between two labels, in heights of the plot
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "engram",  # the same numbers give the same file
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


@dataclass(frozen=True)
class Curve:
    """The evaluations of one strategy's runs."""

    label: str
    steps: Array  # [T]
    returns: Array  # [seeds, T], mean over the episodes of each evaluation

    @classmethod
    def read(cls, label: str, folders: Sequence[Path]) -> Self:
        """From the folders of finished runs that differ in nothing but their seed."""
        logs = [list(RunFolder(folder).evaluations()) for folder in folders]
        steps = np.array([entry["step"] for entry in logs[0]])
        return cls(label, steps, np.array([[np.mean(entry["returns"]) for entry in log] for log in logs]))


def learning_curves(curves: Sequence[Curve], looks: Mapping[str, Look], *, y_label: str) -> Figure:
    """One line per strategy, the mean over seeds, with its name at the end; the band is `BAND`."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.8), layout="constrained")
        axes = figure.subplots()
        for curve in curves:
            look = looks[curve.label]
            mean = curve.returns.mean(axis=0)
            dashes = (0, look.dashes) if look.dashes else "solid"
            axes.plot(curve.steps, mean, color=look.colour, linestyle=dashes, linewidth=1.8)
            if len(curve.returns) > 1:
                error = curve.returns.std(axis=0, ddof=1) / np.sqrt(len(curve.returns))
                axes.fill_between(curve.steps, mean - error, mean + error, color=look.colour, alpha=0.15, linewidth=0)
        axes.set_xlabel("Training (environment steps)")
        axes.set_ylabel(y_label)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        axes.margins(x=0)
        axes.set_xlim(left=0)
        if all((curve.returns >= 0).all() for curve in curves):
            axes.set_ylim(bottom=0)
        _label_ends(axes, curves, looks)
    return figure


def _label_ends(axes: Axes, curves: Sequence[Curve], looks: Mapping[str, Look]) -> None:
    """Name each line at its right end, moved up or down where two names would overlap."""
    low, high = axes.get_ylim()
    ordered = sorted(curves, key=lambda curve: float(curve.returns[:, -1].mean()))
    wanted = [(float(curve.returns[:, -1].mean()) - low) / (high - low) for curve in ordered]
    for curve, height in zip(ordered, spread(wanted, LABEL_GAP), strict=True):
        axes.annotate(
            curve.label,
            (1, height),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=looks[curve.label].colour,
            va="center",
            fontweight="bold",
        )


def spread(heights: Sequence[float], gap: float) -> list[float]:
    """The nearest heights, by least squares, that keep their order and are at least a gap apart."""
    groups: list[list[float]] = []  # of heights less i · gap, so that those that touch are equal
    for i, height in enumerate(heights):
        groups.append([height - i * gap])
        while len(groups) > 1 and np.mean(groups[-2]) >= np.mean(groups[-1]):
            last = groups.pop()
            groups[-1] += last
    level = [float(np.mean(group)) for group in groups for _ in group]
    return [value + i * gap for i, value in enumerate(level)]


class Saved(NamedTuple):
    """Where a figure was written."""

    svg: Path
    png: Path


def save(figure: Figure, stem: Path) -> Saved:
    """Write the figure as SVG, transparent, and as PNG, on white; the same figure gives the same bytes."""
    saved = Saved(stem.with_suffix(".svg"), stem.with_suffix(".png"))
    with mpl.rc_context(STYLE):
        buffer = BytesIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
        write_atomically(saved.svg, buffer.getvalue())
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=200)
        write_atomically(saved.png, buffer.getvalue())
    return saved
