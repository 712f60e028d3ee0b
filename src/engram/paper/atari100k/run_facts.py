"""What each run cost, and what explains its score: a row for every finished run.

A report writes them to `runs.csv` beside the page, and reads from there those of runs whose folders are gone.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from engram.errors import RunFolderError
from engram.files.disk import is_file, read_file, write_atomically
from engram.lab.dataframes import pl
from engram.lab.pages.score_tables import NOT_RUN
from engram.lab.result_files import FACTS
from engram.lab.results import Results
from engram.paper.atari100k.games import was_cut_off
from engram.runs.folder import RunFolder

LAST = 0.25  # of the steps of training, over which metrics of its episodes are averaged
METRICS = {  # column → metric, of episodes of training or of evaluations
    "reads_exact": "reads/exact",
    "reads_distance": "reads/distance",
    "bias_exact": "values/bias_exact",
    "bias_near": "values/bias_near",
    "play_exact": "play/exact",
    "play_distance": "play/distance",
}
SCHEMA: dict[str, Any] = {
    "run": pl.String,  # id
    "cpu_seconds": pl.Float64,  # of all threads, evaluation included
    "memory_bytes": pl.Int64,  # of the tables; null for an agent without a memory
    "model_bytes": pl.Int64,  # of the file of the whole agent, its network and its replay included; null if it is gone
    "games": pl.Int64,  # that the last evaluation played
    "different_returns": pl.Int64,  # among them
    "cut_off": pl.Int64,  # games of it that had not ended
    **dict.fromkeys(METRICS, pl.Float64),  # null where there is none
}


@dataclass(frozen=True)
class Facts:
    """The facts of the runs of a study."""

    table: pl.DataFrame  # a row for each run, as SCHEMA says

    @classmethod
    def read(cls, results: Results) -> Self:
        """The facts of the finished runs, as far as the study's folder has them."""
        folder = results.folder
        if folder is None:
            return cls(pl.DataFrame(schema=SCHEMA))
        runs = results.runs["run"].to_list()
        there = [run for run in runs if is_file(folder / run / "result.json")]
        of_folders = pl.DataFrame([_facts(RunFolder.inside(folder, run)) for run in there], SCHEMA, orient="row")
        gone = pl.col("run").is_in([run for run in runs if run not in set(there)])
        return cls(pl.concat([of_folders, _read_table(folder / FACTS).filter(gone)]))

    def write(self, folder: Path) -> None:
        """Write the table, from which `read` can read it again."""
        write_atomically(folder / FACTS, self.table.write_csv().encode())

    def of(self, runs: Collection[str]) -> pl.DataFrame:
        """The rows of some runs."""
        return self.table.filter(pl.col("run").is_in(list(runs)))

    def mean(self, runs: Collection[str], column: str) -> float | None:
        """The mean of a fact over those of the runs that have it; None if none has."""
        return _mean(self.of(runs)[column].drop_nulls().to_list())

    def shown(self, runs: Collection[str], column: str, how: Callable[[float], str]) -> str:
        """That mean as text."""
        value = self.mean(runs, column)
        return NOT_RUN if value is None else how(value)


def _read_table(path: Path) -> pl.DataFrame:
    """A table that a report wrote; one without rows if there is none."""
    if not is_file(path):
        return pl.DataFrame(schema=SCHEMA)
    try:
        return pl.read_csv(read_file(path), schema=SCHEMA)
    except pl.exceptions.PolarsError as error:
        said = str(error).splitlines()[0]
        raise RunFolderError(f"cannot read {path}: {said}; make the report again from the runs") from error


def _facts(folder: RunFolder) -> tuple[Any, ...]:
    """The row of a finished run."""
    entries, meta = list(folder.entries()), folder.meta
    evaluations = [entry for entry in entries if entry["event"] == "evaluation"]
    last: Mapping[str, Any] = evaluations[-1] if evaluations else {"returns": [], "lengths": []}
    begin = (1 - LAST) * max((entry["step"] for entry in entries), default=0)
    told = [entry.get("metrics", {}) for entry in entries if entry["step"] >= begin]
    return (
        folder.path.name,
        meta.get("cpu_seconds"),
        meta.get("memory_bytes"),
        folder.model_file.stat().st_size if is_file(folder.model_file) else None,
        len(last["returns"]),
        len(set(last["returns"])),
        sum(was_cut_off(length) for length in last["lengths"]),
        *(_mean([each[name] for each in told if name in each]) for name in METRICS.values()),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None
