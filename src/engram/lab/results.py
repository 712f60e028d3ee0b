"""All results of a study as one tidy table: a row for every evaluation."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from engram.errors import MissingExtraError, RunFolderError
from engram.files.disk import storage_errors, write_atomically
from engram.lab.pages.style import label
from engram.lab.study_folder import StudyFolder, unusual_evaluation
from engram.runs.folder import RunFolder

try:
    import polars as pl
except ImportError as error:
    raise MissingExtraError('tables of results need polars: pip install "engram-rl[report]"') from error

SCHEMA: dict[str, Any] = {
    "run": pl.String,  # id
    "env": pl.String,
    "agent": pl.String,  # mfec, nec, d3qn
    "strategy": pl.String,  # as in the paper: LRU, …; null for an agent without a memory
    "capacity": pl.Int64,  # entries per action; null for an agent without a memory
    "seed": pl.Int64,
    "variant": pl.String,  # settings that differ from the study's, as text; empty for none
    "filled": pl.Boolean,  # whether any table was ever full
    "score": pl.Float64,  # of the run: mean of its last ten evaluations
    "step": pl.Int64,  # at which the evaluation took place
    "return": pl.Float64,  # mean over its episodes
    "lowest": pl.Float64,
    "highest": pl.Float64,
    "length": pl.Float64,  # mean, in steps
    "training_return": pl.Float64,  # mean over the training episodes since the evaluation before; null for none
    "training_episodes": pl.Int64,  # their number
}
RUN_COLUMNS = list(SCHEMA)[: list(SCHEMA).index("step")]
TABLE = "evaluations.parquet"


@dataclass(frozen=True)
class Results:
    """What a study's folder holds."""

    study: str
    title: str
    evaluations: pl.DataFrame  # one row per evaluation, as SCHEMA says
    declared: dict[str, dict[str, Any]]  # the study's runs by id: where each stands in its tables, and what it does
    calls: list[dict[str, Any]]  # how they were made
    folder: Path | None = None  # from which it was read

    @classmethod
    def read(cls, path: Path) -> Self:
        """From a study's folder, or from one that `export` made."""
        folder = StudyFolder(path)
        study = folder.read()
        places = {run_id: _place(path / run_id, place) for run_id, place in study["runs"].items()}
        rows = [row for run_id, place in places.items() for row in _rows(path / run_id, run_id, place)]
        if rows or not (path / TABLE).exists():
            evaluations = pl.DataFrame(rows, SCHEMA, orient="row")
        else:
            with storage_errors("read", path / TABLE):
                evaluations = pl.read_parquet(path / TABLE)
        if dict(evaluations.schema) != SCHEMA:
            raise RunFolderError(f"{path / TABLE} is not a table of evaluations; export it again from the runs")
        return cls(study["study"], study["title"], evaluations, places, folder.calls(), path)

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
        """Write the table as Parquet and CSV, and what else `read` needs."""
        if self.folder is not None and folder.resolve() != self.folder.resolve():
            if (there := StudyFolder(folder).name) not in ("none", self.study):
                raise RunFolderError(
                    f"{folder} holds the study {there!r}, not {self.study!r}; choose another with --out"
                )
            StudyFolder(folder).write(self.study, self.title, self.declared)
            if (calls := self.folder / "calls.jsonl").exists():
                write_atomically(folder / calls.name, calls.read_bytes())
        write_atomically(folder / TABLE, _parquet(self.evaluations))
        write_atomically(folder / "evaluations.csv", self.evaluations.write_csv().encode())


def read_evaluations(path: Path | str) -> pl.DataFrame:
    """All results of a study in one table, a row for every evaluation."""
    return Results.read(Path(path)).evaluations


def _place(path: Path, place: dict[str, Any]) -> dict[str, Any]:
    """As the study declares it, with what the run's own config says of its evaluations."""
    return {**place, **unusual_evaluation(RunFolder(path).config or {})}


def _rows(path: Path, run_id: str, place: dict[str, Any]) -> list[tuple[Any, ...]]:
    folder = RunFolder(path)
    result = folder.result
    if result is None:
        return []
    capacity, strategy = place["capacity"], place["strategy"]
    head = (
        *(run_id, place["env"], place["agent"]),
        *(None if strategy is None else label(strategy), capacity, place["seed"], place.get("variant", "")),
        None if capacity is None else capacity in result["memory_size"],
        result["score"],
    )
    rows, episodes = [], list[float]()
    for line in (path / "progress.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry["event"] == "episode":
            episodes.append(entry["return"])
            continue
        returns = entry["returns"]
        training = float(np.mean(episodes)) if episodes else None
        evaluation = (entry["step"], sum(returns) / len(returns), min(returns), max(returns))
        rows.append((*head, *evaluation, float(np.mean(entry["lengths"])), training, len(episodes)))
        episodes = []
    return rows


def _parquet(frame: pl.DataFrame) -> bytes:
    from io import BytesIO  # noqa: PLC0415

    buffer = BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=19, statistics=False)
    return buffer.getvalue()
