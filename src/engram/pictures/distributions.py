"""How the values, counts and ages of a memory's entries are distributed."""

import numpy as np

from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import INK, action_colours
from engram.pictures.picture import Picture
from engram.pictures.scene import Scene
from engram.runs.snapshots import Snapshot
from engram.typing import Array, Doubles

BINS = 30
PLURALS = {"value": "values", "count": "counts", "age, in steps": "ages"}


def distribution_picture(snapshot: Snapshot, scene: Scene) -> Picture:
    """Histograms, stacked by action."""
    columns: dict[str, list[Array]] = {"value": [table.values for table in snapshot.tables]}
    for label, name in (("count", "counts"), ("age, in steps", "ages")):
        found = [getattr(table, name) for table in snapshot.tables]
        if all(each is not None for each in found) and len(np.unique(np.concatenate(found))) > 1:
            columns[label] = found
    colours = action_colours(len(snapshot.tables))
    named = len(set(colours)) == len(colours)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(PAGE_WIDTH, 3.1), layout="constrained")
        for number, (label, numbers) in enumerate(columns.items()):
            axes = figure.add_subplot(1, max(2, len(columns)), number + 1)
            _draw(axes, numbers, colours, scene.actions)
            axes.set_xlabel(label)
            if number == 0:
                axes.set_ylabel("entries")
                handles, labels = axes.get_legend_handles_labels()
        if named:
            figure.legend(handles, labels, loc="outside upper left", ncols=6, frameon=False, labelcolor=INK)
    words = f"Entries by {_listed([label.partition(',')[0] for label in columns])}, " + (
        "stacked by action." if named else "of all actions."
    )
    title = _listed([PLURALS[label] for label in columns])
    return Picture("distributions", title.capitalize(), words, figure)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _draw(axes: Axes, numbers: list[Array], colours: list[str], names: tuple[str, ...]) -> None:
    """One histogram."""
    together = np.concatenate(numbers).astype(np.float64)
    bins = _bins(together).tolist()
    axes.hist(numbers, bins=bins, stacked=True, color=colours, label=list(names))
    axes.tick_params(labelsize=8, length=2)
    axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(5, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(5, steps=[1, 2, 5, 10]))


def _bins(numbers: Doubles) -> Doubles:
    """The edges of bins: one for each number where they are few and whole, otherwise of equal width."""
    low, high = (float(numbers.min()), float(numbers.max())) if len(numbers) else (0.0, 1.0)
    if high - low < BINS and (numbers == np.rint(numbers)).all():
        return np.arange(low - 0.5, high + 1)
    return np.linspace(low, high if high > low else low + 1, BINS + 1)
