"""The table of a study's evaluations: how it is kept in a file, which can stand for runs whose folders are gone."""

from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from engram.errors import RunFolderError
from engram.files.disk import is_file, read_file, write_atomically
from engram.lab.cell import Cell
from engram.lab.dataframes import pl
from engram.lab.labels import strategy_label
from engram.lab.result_files import FACTS, TABLE
from engram.runs.finished import LAST_EVALUATIONS

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
REMEDY = "put it back as it was, or export it again from the runs"
THEIRS = " in study.json"  # after the name of a column
ROUNDING = 1e-9  # by which the mean of a run's last evaluations may be off its score, relative to them
RUN_COLUMNS = list(SCHEMA)[: list(SCHEMA).index("step")]


def read_table(folder: Path, places: Mapping[str, Mapping[str, Any]] | None = None) -> pl.DataFrame:
    """The table of a folder; one without rows if there is none.

    With `places`, lines of `study.json` by run id, it has the rows of those runs only, which must say the same of them.
    Variants are as the study names them, as rows may come from another study.
    """
    path = folder / TABLE
    if not is_file(path):
        return pl.DataFrame(schema=SCHEMA)
    try:
        table = pl.read_parquet(BytesIO(read_file(path)))
    except pl.exceptions.PolarsError as error:
        said = str(error).splitlines()[0]
        raise RunFolderError(f"cannot read {path}: {said}; {REMEDY}") from error
    if dict(table.schema) != SCHEMA:
        raise RunFolderError(f"{path} is not a table of evaluations; {REMEDY}")
    table = table.select(list(SCHEMA))
    _check_numbers(table, path)
    _check_runs(table, path)
    return table if places is None else _declared_rows(table, places, path)


def _check_numbers(table: pl.DataFrame, path: Path) -> None:
    """Raise RunFolderError if a number is not one."""
    for name in ("score", "step", "return"):
        bad = table.filter(pl.col(name).is_null() | ~pl.col(name).is_finite())
        if bad.height:
            raise RunFolderError(f"{path} has {bad[name][0]} as the {name} of {bad['run'][0]}; {REMEDY}")


def _check_runs(table: pl.DataFrame, path: Path) -> None:
    """Raise RunFolderError if rows of a run do not agree about it, two are of one step, or its score is not theirs."""
    runs = table.select(RUN_COLUMNS).unique()
    if runs.height != runs["run"].n_unique():
        run = runs.filter(pl.col("run").is_duplicated())["run"][0]
        raise RunFolderError(f"{path} says different things about the run {run}; {REMEDY}")
    twice = table.filter(pl.struct("run", "step").is_duplicated())
    if twice.height:
        raise RunFolderError(
            f"{path} has the evaluation of {twice['run'][0]} at step {twice['step'][0]} twice; {REMEDY}"
        )
    last = pl.col("return").tail(LAST_EVALUATIONS).mean()
    scores = table.sort("step").group_by("run", maintain_order=True).agg(pl.col("score").first(), last.alias("mean"))
    wrong = scores.filter((pl.col("score") - pl.col("mean")).abs() > ROUNDING * (1 + pl.col("mean").abs()))
    if wrong.height:
        run, score, mean = wrong.row(0)
        raise RunFolderError(
            f"{path} has {score} as the score of {run}, whose last evaluations have a mean of {mean}; {REMEDY}"
        )


def _declared_rows(table: pl.DataFrame, places: Mapping[str, Mapping[str, Any]], path: Path) -> pl.DataFrame:
    """The rows of these runs; raise RunFolderError if one does not say of its run what the study says."""
    declared = [(run_id, *Cell.of(place), place["seed"], place.get("variant", "")) for run_id, place in places.items()]
    columns = {name: SCHEMA[name] for name in ("run", *Cell._fields, "seed", "variant")}
    rows = table.filter(pl.col("run").is_in(list(places))).join(
        pl.DataFrame(declared, columns, orient="row"), on="run", how="left", suffix=THEIRS
    )
    rows = rows.with_columns(_strategy_name(), variant=pl.col(f"variant{THEIRS}"))
    for name in (*Cell._fields, "seed"):
        wrong = rows.filter(pl.col(name).ne_missing(pl.col(f"{name}{THEIRS}")))
        if wrong.height:
            run, said, expected = wrong.select("run", name, f"{name}{THEIRS}").row(0)
            raise RunFolderError(
                f"{path} has {said} as the {name} of {run}, and study.json {expected}; put the one of them that was "
                "changed back as it was"
            )
    return rows.select(list(SCHEMA))


def _strategy_name() -> pl.Expr:
    """The strategy as the study names it, where a table has its label as it once was: `DkM, decay 0.3`."""
    name = pl.col(f"strategy{THEIRS}")
    label = name.map_elements(lambda each: strategy_label(each).replace(" (", ", ").rstrip(")"), pl.String)
    return pl.when(pl.col("strategy") == label).then(name).otherwise(pl.col("strategy")).alias("strategy")


def runs_in_table(folder: Path) -> set[str]:
    """The ids of the runs that a folder's table has, whatever else it says of them; none if it cannot be read."""
    if not is_file(folder / TABLE):
        return set()
    try:
        return {str(run) for run in pl.read_parquet(BytesIO(read_file(folder / TABLE)), columns=["run"])["run"]}
    except pl.exceptions.PolarsError:
        return set()


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
