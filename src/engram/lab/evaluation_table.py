"""The table of a study's evaluations: how it is kept in a file, which can stand for runs whose folders are gone."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from engram.errors import RunFolderError
from engram.files.disk import is_file, read_file, write_atomically
from engram.lab.cell import Cell
from engram.lab.dataframes import pl
from engram.lab.result_files import FACTS, TABLE

SCHEMA: dict[str, Any] = {
    "run": pl.String,  # id
    "env": pl.String,
    "agent": pl.String,  # its name: mfec, …
    "strategy": pl.String,  # its name and options: dkm:decay=0.3; null for an agent without a memory
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


def read_table(folder: Path, places: Mapping[str, Mapping[str, Any]] | None = None) -> pl.DataFrame:
    """The table of a folder; one without rows if there is none.

    With `places`, lines of `study.json` by run id, it has the rows of those runs only, named as the study names them: a
    table may be older than the names of strategies (`DkM, decay 0.3`), or another study's.
    """
    path = folder / TABLE
    if not is_file(path):
        return pl.DataFrame(schema=SCHEMA)
    try:
        table = pl.read_parquet(BytesIO(read_file(path)))
    except pl.exceptions.PolarsError as error:
        said = str(error).splitlines()[0]
        raise RunFolderError(f"cannot read {path}: {said}; export it again from the runs") from error
    if dict(table.schema) != SCHEMA:
        raise RunFolderError(f"{path} is not a table of evaluations; export it again from the runs")
    table = table.select(list(SCHEMA))
    _check(table, path)
    if places is None:
        return table
    strategies = {run_id: Cell.of(place).strategy for run_id, place in places.items()}
    variants = {run_id: place.get("variant", "") for run_id, place in places.items()}
    return table.filter(pl.col("run").is_in(list(places))).with_columns(
        pl.col("run").replace_strict(strategies, return_dtype=pl.String).alias("strategy"),
        pl.col("run").replace_strict(variants, return_dtype=pl.String).alias("variant"),
    )


def _check(table: pl.DataFrame, path: Path) -> None:
    """Raise RunFolderError if a number is not one, or if rows of one run say different things about it."""
    for name in ("score", "return"):
        bad = table.filter(pl.col(name).is_null() | ~pl.col(name).is_finite())
        if bad.height:
            raise RunFolderError(
                f"{path} has {bad[name][0]} as the {name} of {bad['run'][0]}; put it back as it was, or export it again"
            )
    runs = table.select(RUN_COLUMNS).unique()
    if runs.height != runs["run"].n_unique():
        run = runs.filter(pl.col("run").is_duplicated())["run"][0]
        raise RunFolderError(f"{path} says different things about the run {run}; put it back as it was")


def write_table(folder: Path, table: pl.DataFrame) -> None:
    """Write the table of a folder."""
    buffer = BytesIO()
    table.write_parquet(buffer, compression="zstd", compression_level=19, statistics=False)
    write_atomically(folder / TABLE, buffer.getvalue())


def add_to_table(folder: Path, others: Iterable[Path], wanted: Iterable[str]) -> list[str]:
    """Copy the rows of these runs from other folders' tables, each from the first that has it; return whose."""
    table, missing = read_table(folder), set(wanted)
    missing -= set(table["run"])
    parts = [table]
    for other in others:
        parts.append(read_table(other).filter(pl.col("run").is_in(sorted(missing))))
        found = set(parts[-1]["run"])
        _add_facts(folder / FACTS, other / FACTS, found)
        missing -= found
    added = [run for part in parts[1:] for run in part["run"].unique(maintain_order=True)]
    if added:
        write_table(folder, pl.concat(parts))
    return added


def _add_facts(file: Path, other: Path, runs: set[str]) -> None:
    """Copy the lines of these runs from another folder's file of facts, if it has one."""
    if is_file(other):
        head, *lines = read_file(other).decode().splitlines(keepends=True)
        there = read_file(file).decode() if is_file(file) else head
        known = {line.split(",")[0] for line in there.splitlines()}
        wanted = [line for line in lines if line.split(",")[0] in runs - known]
        if wanted and there.startswith(head):
            write_atomically(file, (there + "".join(wanted)).encode())


def results_in_table(folder: Path) -> dict[str, dict[str, Any]]:
    """What is known of the results of the runs of a folder's table, by id."""
    runs = read_table(folder).group_by("run").agg(pl.col("score").first(), pl.len(), pl.col("step").max())
    return {
        run: {"score": score, "evaluations": count, "steps": steps} for run, score, count, steps in runs.iter_rows()
    }
