"""Scores and learning curves of the runs of one or more studies, by cell: what tables and claims are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engram.agents import label_of
from engram.envs.names import names_apart
from engram.errors import InvalidInputError
from engram.lab.cell import Cell
from engram.lab.dataframes import pl
from engram.lab.results import Results
from engram.typing import Array


@dataclass(frozen=True)
class Evidence:
    """The results of one or more studies. Variants of a study are left out everywhere."""

    studies: Sequence[Results] = ()
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # of studies that are not made of runs, by name

    def __add__(self, other: "Evidence") -> "Evidence":
        """Both together; raise InvalidInputError if they have different runs of the same cell and seed."""
        mine, theirs = self._ids, other._ids
        for place in mine.keys() & theirs.keys():
            if mine[place] != theirs[place]:
                cell, seed = place
                raise InvalidInputError(
                    f"two of the studies have different runs of {cell.with_seed(seed)}: {mine[place]} and "
                    f"{theirs[place]}; they may differ in their steps, so name only one of these studies"
                )
        return Evidence([*self.studies, *other.studies], {**self.tables, **other.tables})

    @cached_property
    def _ids(self) -> dict[tuple[Cell, int], str]:
        """The run of each cell and seed."""
        rows = [] if self._runs is None else self._runs.iter_rows(named=True)
        return {(Cell.of(row), row["seed"]): row["run"] for row in rows}

    @cached_property
    def curves(self) -> dict[Cell, dict[int, tuple[Array, Array]]]:
        """For each cell and seed, the steps of the evaluations and their returns."""
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
                found.setdefault(Cell.of(row), {})[row["seed"]] = row["score"]
        return found

    @cached_property
    def incomplete(self) -> set[Cell]:
        """Cells with runs that are not finished in any of the studies."""
        found, done = set(), set() if self._runs is None else set(self._runs["run"])
        for study in self.studies:
            for run_id in study.missing:
                place = study.declared[run_id]
                if run_id not in done and not place.get("variant", ""):
                    found.add(Cell.of(place))
        return found

    @cached_property
    def steps(self) -> dict[Cell, tuple[int, ...]]:
        """For every cell, finished or not, the numbers of training steps of its runs: one number, if all are alike."""
        found: dict[Cell, set[int]] = {}
        for study in self.studies:
            for place in study.declared.values():
                if not place.get("variant", ""):
                    found.setdefault(Cell.of(place), set()).add(place["steps"])
        return {cell: tuple(sorted(steps)) for cell, steps in found.items()}

    @cached_property
    def env_names(self) -> dict[str, str]:
        """What each environment is called on a page: by its short name, or told apart from others of that name."""
        return names_apart(place["env"] for study in self.studies for place in study.declared.values())

    def place(self, env: str, agent: str) -> str:
        """An environment and an agent as a page names them: `CartPole, NEC`."""
        return f"{self.env_names[env]}, {label_of(agent)}"

    @property
    def seed_counts(self) -> set[int]:
        """How many seeds the finished cells of agents with a memory have."""
        finished = self._scores.keys() - self.incomplete
        return {len(self._scores[cell]) for cell in finished if cell.strategy is not None}

    def scores(self, env: str, agent: str, strategy: str | None, capacity: int | None) -> Array | None:
        """One score per seed, in order of the seeds; None for a cell without runs or with unfinished ones."""
        cell = Cell(env, agent, strategy, capacity)
        if cell in self.incomplete or cell not in self._scores:
            return None
        return np.array([score for _, score in sorted(self._scores[cell].items())])

    def baselines(self, env: str) -> list[str]:
        """The agents without a memory that were run in an environment."""
        return list(dict.fromkeys(cell.agent for cell in self.steps if cell.env == env and cell.capacity is None))

    def filled(self, env: str, agent: str, capacity: int) -> bool:
        """Whether any table of that size was ever full: where none was, all strategies are the same."""
        if self._runs is None:
            return False
        there = (pl.col("env") == env) & (pl.col("agent") == agent) & (pl.col("capacity") == capacity)
        return bool(self._runs.filter(there)["filled"].any())

    def sizes(self, env: str, agent: str) -> list[int]:
        """The memory sizes at which something had to be forgotten, or may have been in runs that are missing."""
        done, missing = (
            {cell.capacity for cell in cells if cell[:2] == (env, agent) and cell.capacity}
            for cells in (self._scores, self.incomplete)
        )
        return sorted({size for size in done if self.filled(env, agent, size)} | missing)
