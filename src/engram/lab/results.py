"""All results of a study as one table: a row for every evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from engram.errors import RunFolderError
from engram.files.disk import is_file, read_file, write_atomically
from engram.lab.cell import Cell
from engram.lab.dataframes import pl
from engram.lab.earlier_runs import Earlier
from engram.lab.evaluation_table import RUN_COLUMNS, SCHEMA, read_table, runs_in_table, write_table
from engram.lab.places import Place, place_in_words, twins
from engram.lab.study_folder import STUDY_FILE, StudyFolder, check_evaluation, unusual_evaluation
from engram.runs.folder import RunFolder


@dataclass(frozen=True)
class Results:
    """What a study's folder holds."""

    study: str
    title: str
    evaluations: pl.DataFrame  # one row per evaluation, as SCHEMA says
    declared: dict[str, dict[str, Any]]  # the study's runs by id: cell, seed, variant, steps and evaluation of each
    calls: list[dict[str, Any]]  # the commands that made them
    folder: Path | None = None  # from which the results were read
    earlier: Earlier = field(default_factory=Earlier)  # not of the study as it is now; those replaced are left out

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a study's folder, or from one that `export` made.

        Runs that have no folder there are taken from its table of evaluations.
        """
        folder = StudyFolder(path)
        study = folder.read()
        earlier = Earlier.among(study["runs"])
        shown = {run_id: place for run_id, place in study["runs"].items() if run_id not in earlier.replaced}
        _check_apart(shown, folder)
        places = {run_id: _place(RunFolder.inside(path, run_id), place) for run_id, place in shown.items()}
        rows = {run_id: _rows(path / run_id, run_id, place) for run_id, place in places.items()}
        of_folders = pl.DataFrame([row for run in rows.values() for row in run], SCHEMA, orient="row")
        of_table = read_table(path, {run_id: place for run_id, place in places.items() if not rows[run_id]})
        order = pl.col("run").replace_strict({run_id: i for i, run_id in enumerate(places)}, return_dtype=pl.Int64)
        evaluations = pl.concat([of_folders, of_table]).sort(order, maintain_order=True)
        return cls(study["study"], study["title"], evaluations, places, folder.calls(), path, earlier)

    @property
    def runs(self) -> pl.DataFrame:
        """One row per finished run."""
        return self.evaluations.select(RUN_COLUMNS).unique(maintain_order=True)

    @property
    def missing(self) -> list[str]:
        """Runs of the study that are not finished."""
        done = set(self.evaluations["run"])
        return [run_id for run_id in self.declared if run_id not in done]

    def export(self, folder: Path) -> None:
        """Write the table as Parquet and CSV, and everything else that `read` needs."""
        if self.folder is not None and folder.resolve() != self.folder.resolve():
            self._check_replaceable(StudyFolder(folder))
            StudyFolder(folder).write(self.study, self.title, self.declared)
            if is_file(calls := self.folder / "calls.jsonl"):
                write_atomically(folder / calls.name, read_file(calls))
        write_table(folder, self.evaluations)
        write_atomically(folder / "evaluations.csv", self.evaluations.write_csv().encode())

    def _check_replaceable(self, there: StudyFolder) -> None:
        """Raise RunFolderError if a folder holds another study, or finished runs of this one that are not here."""
        if there.name not in ("none", self.study):
            raise RunFolderError(
                f"{there.path} holds the study {there.name!r}, not {self.study!r}; choose another with --out"
            )
        if lost := sorted(_finished(there) - {*self.evaluations["run"], *self.earlier.replaced}):
            raise RunFolderError(
                f"{there.path} holds finished runs that {self.folder} does not have ({len(lost):,}, such as "
                f"{lost[0]}), and the report would take their place; choose another folder with --out, go on with them "
                f"(engram study NAME --reuse {there.path} --out {self.folder}), or delete {there.path}"
            )


def read_evaluations(path: Path | str) -> pl.DataFrame:
    """All results of a study in one table, a row for every evaluation."""
    return Results.read(Path(path)).evaluations


def _finished(folder: StudyFolder) -> set[str]:
    """The runs whose results a folder holds, in its table or in folders of their own."""
    declared = folder.read()["runs"] if folder.name != "none" else ()
    return runs_in_table(folder.path) | {run for run in declared if is_file(folder.path / run / "result.json")}


def _check_apart(places: Mapping[str, Place], folder: StudyFolder) -> None:
    """Raise RunFolderError if two runs stand in one place of the tables, which has room for one of them."""
    if pair := twins(places):
        raise RunFolderError(
            f"{folder.path / STUDY_FILE} has two runs of {place_in_words(places[pair[0]])}: {' and '.join(pair)}; put "
            "it back as it was, or start the study again, which leaves out what is not of it as it is now"
        )


def _place(folder: RunFolder, place: dict[str, Any]) -> dict[str, Any]:
    """A run as the study declares it, with the settings of its evaluations from the run's own config."""
    config = folder.config or {}
    try:
        check_evaluation(config)
    except TypeError as error:
        raise RunFolderError(f"cannot read {folder.path / 'config.json'}: {error}; put it back as it was") from error
    return {**place, **unusual_evaluation(config)}


def _rows(path: Path, run_id: str, place: dict[str, Any]) -> list[tuple[Any, ...]]:
    """A finished run's rows of the table, from its log."""
    folder = RunFolder(path)
    result = folder.result
    if result is None:
        return []
    cell = Cell.of(place)
    filled = None if cell.capacity is None else cell.capacity in result.get("memory_size", ())
    head = (run_id, *cell, place["seed"], place.get("variant", ""), filled, result["score"])
    rows, episodes = [], list[float]()
    for entry in folder.entries():
        if entry["event"] == "episode":
            episodes.append(entry["return"])
            continue
        returns = entry["returns"]
        training = float(np.mean(episodes)) if episodes else None
        evaluation = (entry["step"], sum(returns) / len(returns), min(returns), max(returns))
        rows.append((*head, *evaluation, float(np.mean(entry["lengths"])), training, len(episodes)))
        episodes = []
    return rows
