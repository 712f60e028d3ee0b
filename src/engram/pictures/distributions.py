"""How the values, counts and ages of a memory's entries are distributed."""

import numpy as np

from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.pictures.colours import INK, action_colours
from engram.pictures.picture import Picture
from engram.pictures.scene import Scene
from engram.runs.snapshots import Snapshot
from engram.typing import Array

BINS = 30


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
    words = f"Entries by {_in_words(list(columns))}, " + ("stacked by action." if named else "of all actions.")
    return Picture("distributions", "Values and counts" if len(columns) > 1 else "Values", words, figure)


def _in_words(labels: list[str]) -> str:
    plain = [label.partition(",")[0] for label in labels]
    return plain[0] if len(plain) == 1 else f"{', '.join(plain[:-1])} and {plain[-1]}"


def _draw(axes: Axes, numbers: list[Array], colours: list[str], names: tuple[str, ...]) -> None:
    """One histogram."""
    together = np.concatenate(numbers).astype(np.float64)
    low, high = (float(together.min()), float(together.max())) if len(together) else (0.0, 1.0)
    bins = np.linspace(low, high if high > low else low + 1, BINS + 1).tolist()
    axes.hist(numbers, bins=bins, stacked=True, color=colours, label=list(names))
    axes.tick_params(labelsize=8, length=2)
    axes.yaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
