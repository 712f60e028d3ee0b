"""What claims are decided from: the scores of runs, by where they stand in the tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
import polars as pl

from engram.lab.pages.style import label
from engram.lab.results import Results
from engram.typing import Array


class Cell(NamedTuple):
    """Runs that differ in nothing but their seed."""

    env: str
    agent: str
    strategy: str | None  # as in the paper: LRU, …
    capacity: int | None

    @classmethod
    def of(cls, place: Mapping[str, Any]) -> Self:
        """The cell of a run, given as a study declares it."""
        strategy = None if place["strategy"] is None else label(place["strategy"])
        return cls(place["env"], place["agent"], strategy, place["capacity"])


@dataclass(frozen=True)
class Evidence:
    """The results of one or more studies, and of the stream if it was made."""

    studies: Sequence[Results] = ()
    distances: pl.DataFrame | None = None  # of the stream: points, seed, method, fraction, to_first, to_second, to_all
    lengths: pl.DataFrame | None = None  # the same for streams of other lengths
    costs: pl.DataFrame | None = None  # of the stream: capacity, repetition, lookup_us, kmeans_us, dkm_us

    @cached_property
    def curves(self) -> dict[Cell, dict[int, tuple[Array, Array]]]:
        """For each cell and seed, the steps of the evaluations and their returns. Variants of a study are left out."""
        found: dict[Cell, dict[int, tuple[Array, Array]]] = {}
        for study in self.studies:
            plain = study.evaluations.filter(pl.col("variant") == "")
            for (env, agent, strategy, capacity, seed), part in plain.group_by(
                ["env", "agent", "strategy", "capacity", "seed"], maintain_order=True
            ):
                cell = Cell(str(env), str(agent), strategy, capacity)
                ordered = part.sort("step")
                curve = (ordered["step"].to_numpy(), ordered["return"].to_numpy())
                found.setdefault(cell, {})[int(seed)] = curve
        return found

    @cached_property
    def _runs(self) -> pl.DataFrame | None:
        frames = [study.runs.filter(pl.col("variant") == "") for study in self.studies]
        return pl.concat(frames).unique("run", maintain_order=True) if frames else None

    @cached_property
    def _scores(self) -> dict[Cell, dict[int, float]]:
        found: dict[Cell, dict[int, float]] = {}
        if self._runs is not None:
            for row in self._runs.drop_nulls("score").iter_rows(named=True):
                cell = Cell(row["env"], row["agent"], row["strategy"], row["capacity"])
                found.setdefault(cell, {})[row["seed"]] = row["score"]
        return found

    @cached_property
    def incomplete(self) -> set[Cell]:
        """Cells with runs that are not finished in any of the studies. Variants of a study are left out."""
        found, done = set(), set() if self._runs is None else set(self._runs["run"])
        for study in self.studies:
            for run_id in study.missing:
                place = study.declared[run_id]
                if run_id not in done and not place.get("variant", ""):
                    found.add(Cell.of(place))
        return found

    @cached_property
    def steps(self) -> dict[Cell, tuple[int, ...]]:
        """Every cell of the studies, finished or not, and the steps of training of its runs: one number, if alike."""
        found: dict[Cell, set[int]] = {}
        for study in self.studies:
            for place in study.declared.values():
                if not place.get("variant", ""):
                    found.setdefault(Cell.of(place), set()).add(place["steps"])
        return {cell: tuple(sorted(steps)) for cell, steps in found.items()}

    def scores(self, env: str, agent: str, strategy: str | None, capacity: int | None) -> Array | None:
        """One score per seed, in order of the seeds; None for a cell that is not there, or not whole."""
        cell = Cell(env, agent, strategy, capacity)
        if cell in self.incomplete or cell not in self._scores:
            return None
        return np.array([score for _, score in sorted(self._scores[cell].items())])

    def filled(self, env: str, agent: str, capacity: int) -> bool:
        """Whether any table of that size was ever full: where none was, all strategies are the same."""
        if self._runs is None:
            return False
        there = (pl.col("env") == env) & (pl.col("agent") == agent) & (pl.col("capacity") == capacity)
        return bool(self._runs.filter(there)["filled"].any())

    def sizes(self, env: str, agent: str, among: Iterable[int] | None = None) -> list[int]:
        """The memory sizes at which something had to be forgotten, or may have been in runs that are missing."""
        done, missing = (
            {cell.capacity for cell in cells if cell[:2] == (env, agent) and cell.capacity}
            for cells in (self._scores, self.incomplete)
        )
        there = {size for size in done if self.filled(env, agent, size)} | missing
        return sorted(there if among is None else there.intersection(among))
