"""Results of studies that were never run: their runs as declared, with scores of one's choice."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from engram.lab.cell import Cell
from engram.lab.evaluation_table import SCHEMA
from engram.lab.grid import Study
from engram.lab.results import Results
from engram.lab.study_folder import StudyFolder
from engram.paper.registry import STUDIES
from engram.typing import Array

DEVIATIONS = (0.5, -1.0, 1.5, -1.5, 0.5)  # of the seeds from their mean, in spreads; any three in a row differ

Number = float | Callable[[Cell], float]
Places = dict[str, dict[str, Any]]
Curve = Callable[[Cell, int, float], tuple[Sequence[int], Sequence[float]]]  # of cell, seed and score: steps, returns


def declare(study: Study, folder: Path) -> Places:
    """The study's runs by id, as its folder has them."""
    StudyFolder(folder).declare(study, study.runs())
    places: Places = StudyFolder(folder).read()["runs"]
    return places


@cache
def declared(name: str) -> Places:
    """The runs of one of the paper's studies."""
    with TemporaryDirectory() as folder:
        return declare(STUDIES[name], Path(folder))


def spread_out(mean: Number, spread: Number = 0.0) -> Callable[[Cell, int], float]:
    """Scores with that mean, and seeds that deviate from it by the same in every cell."""

    def score(cell: Cell, seed: int) -> float:
        middle, width = (each(cell) if callable(each) else each for each in (mean, spread))
        return middle + width * DEVIATIONS[seed % len(DEVIATIONS)]

    return score


def at_the_end(cell: Cell, seed: int, score: float) -> tuple[Sequence[int], Sequence[float]]:
    """A single evaluation, that returns the score."""
    return (20_000,), (score,)


def results(
    study: Study | str,
    score: Callable[[Cell, int], float],
    *,
    filled: Callable[[Cell], bool] = lambda cell: True,
    curve: Curve = at_the_end,
    without: Callable[[dict[str, Any]], bool] = lambda place: False,  # runs that are not finished
    places: Places | None = None,
) -> Results:
    """Of a study in which every run but those that are missing has its score and its curve."""
    name, title = (study, STUDIES[study].title) if isinstance(study, str) else (study.name, study.title)
    if places is None:
        places = declared(name)
    columns: dict[str, list[Any]] = {column: [] for column in SCHEMA}
    for run_id, place in places.items():
        if without(place):
            continue
        cell, seed = Cell.of(place), int(place["seed"])
        value = score(cell, seed)
        steps, returns = curve(cell, seed, value)
        full = None if cell.capacity is None else filled(cell)
        head = (run_id, *cell, seed, place["variant"], full, value)
        for step, reached in zip(steps, returns, strict=True):
            row = (*head, step, reached, reached - 1, reached + 1, 20.0, reached / 2, 3)
            for column, entry in zip(columns.values(), row, strict=True):
                column.append(entry)
    return Results(name, title, pl.DataFrame(columns, SCHEMA), places, [])


def line(first: float, last: float, *, steps: Sequence[int] = tuple(range(500, 20_500, 500))) -> Array:
    """Returns that go from one value to another with the steps."""
    return np.interp(steps, (steps[0], steps[-1]), (first, last))
