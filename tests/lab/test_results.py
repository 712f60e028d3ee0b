"""The table of all evaluations: it holds names, and older tables with labels are read as if they did."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from engram.errors import InvalidInputError, RunFolderError
from engram.lab.evidence import Evidence
from engram.lab.grid import Grid, Study
from engram.lab.result_files import TABLE
from engram.lab.results import Results
from tests.lab.pages.synthetic import declare, results

STUDY = Study(
    "mine",
    "Mine",
    (
        Grid("mfec", "CartPole-v1", 1_000, range(2), ("lru", "dkm:decay=0.3"), (50,)),
        Grid("d3qn", "CartPole-v1", 1_000, range(2)),
    ),
)
LABELS = {"lru": "LRU", "dkm:decay=0.3": "DkM, decay 0.3"}


def test_a_table_with_labels_is_read_with_names(tmp_path: Path) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path))
    found.export(tmp_path)
    labelled = found.evaluations.with_columns(pl.col("strategy").replace(LABELS))
    assert set(labelled["strategy"]) == {"LRU", "DkM, decay 0.3", None}
    labelled.write_parquet(tmp_path / TABLE)
    assert Results.read(tmp_path).evaluations.equals(found.evaluations)


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    declare(STUDY, tmp_path)
    pl.DataFrame({"step": [1]}).write_parquet(tmp_path / TABLE)
    with pytest.raises(RunFolderError, match="is not a table of evaluations"):
        Results.read(tmp_path)


def test_columns_may_stand_in_any_order(tmp_path: Path) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path))
    found.evaluations.select(sorted(found.evaluations.columns)).write_parquet(tmp_path / TABLE)
    assert Results.read(tmp_path).evaluations.equals(found.evaluations)


@pytest.mark.parametrize(("column", "value"), [("score", None), ("score", float("nan")), ("return", float("inf"))])
def test_numbers_that_are_none_are_refused_by_name(tmp_path: Path, column: str, value: float | None) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path)).evaluations
    run = found["run"][0]
    spoilt = pl.when(pl.col("run") == run).then(pl.lit(value, pl.Float64)).otherwise(pl.col(column)).alias(column)
    found.with_columns(spoilt).write_parquet(tmp_path / TABLE)
    with pytest.raises(RunFolderError, match=f"{TABLE} has .* as the {column} of {run}; put it back"):
        Results.read(tmp_path)


def test_a_run_with_two_scores_is_refused(tmp_path: Path) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path)).evaluations
    twice = pl.concat([found, found.head(1).with_columns(score=pl.lit(9999.0))])
    twice.write_parquet(tmp_path / TABLE)
    with pytest.raises(RunFolderError, match=f"says different things about the run {found['run'][0]}"):
        Results.read(tmp_path)


def test_different_runs_of_one_cell_and_seed_are_not_mixed(tmp_path: Path) -> None:
    short = replace(STUDY, grids=tuple(replace(grid, steps=500) for grid in STUDY.grids))
    pair = []
    for name, study in {"whole": STUDY, "short": short}.items():
        pair.append(Evidence([results(study, lambda cell, seed: 1.0, places=declare(study, tmp_path / name))]))
    assert len((pair[0] + pair[0]).studies) == 2
    for a, b in (pair, pair[::-1]):
        with pytest.raises(InvalidInputError, match=r"different runs of .*, seed \d: .*name only one of these studies"):
            a + b
