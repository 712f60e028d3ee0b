"""The table of all evaluations: it holds names, and one that does not agree with itself or its study is refused."""

from pathlib import Path

import polars as pl
import pytest

from engram.errors import RunFolderError
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


@pytest.mark.parametrize(
    ("column", "value"), [("score", None), ("score", float("nan")), ("return", float("inf")), ("step", None)]
)
def test_numbers_that_are_none_are_refused_by_name(tmp_path: Path, column: str, value: float | None) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path)).evaluations
    run = found["run"][0]
    spoilt = (
        pl.when(pl.col("run") == run).then(pl.lit(value, found[column].dtype)).otherwise(pl.col(column)).alias(column)
    )
    found.with_columns(spoilt).write_parquet(tmp_path / TABLE)
    with pytest.raises(RunFolderError, match=f"{TABLE} has .* as the {column} of {run}; put it back"):
        Results.read(tmp_path)


def test_a_run_with_two_scores_is_refused(tmp_path: Path) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path)).evaluations
    twice = pl.concat([found, found.head(1).with_columns(score=pl.lit(9999.0))])
    twice.write_parquet(tmp_path / TABLE)
    with pytest.raises(RunFolderError, match=f"says different things about the run {found['run'][0]}"):
        Results.read(tmp_path)


@pytest.mark.parametrize(
    ("column", "value"),
    [("seed", 7), ("seed", None), ("env", "Acrobot-v1"), ("agent", "nec"), ("capacity", 51), ("strategy", "rew")],
)
def test_rows_that_the_study_tells_otherwise_are_refused(tmp_path: Path, column: str, value: object) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path)).evaluations
    run = found["run"][2]
    changed = pl.when(pl.col("run") == run).then(pl.lit(value)).otherwise(pl.col(column)).cast(found[column].dtype)
    found.with_columns(changed.alias(column)).write_parquet(tmp_path / TABLE)
    with pytest.raises(RunFolderError, match=f"{TABLE} has {value} as the {column} of {run}, and study.json .*; put"):
        Results.read(tmp_path)


def test_an_evaluation_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path)).evaluations
    pl.concat([found, found.head(1).with_columns(length=pl.lit(9.0))]).write_parquet(tmp_path / TABLE)
    with pytest.raises(RunFolderError, match=f"the evaluation of {found['run'][0]} at step 20000 twice; put it back"):
        Results.read(tmp_path)


@pytest.mark.parametrize("off", [0.0, 1e-12, 1e-6])
def test_a_score_that_is_not_of_the_last_ten_evaluations_is_refused(tmp_path: Path, off: float) -> None:
    steps, returns = range(12), [float(step) for step in range(12)]
    found = results(
        STUDY, lambda cell, seed: 6.5 + off, curve=lambda *_: (steps, returns), places=declare(STUDY, tmp_path)
    )
    found.evaluations.reverse().write_parquet(tmp_path / TABLE)
    if off < 1e-9:
        assert set(Results.read(tmp_path).runs["score"]) == {6.5 + off}
        return
    with pytest.raises(
        RunFolderError, match=r"has 6\.500001 as the score of .* whose last evaluations have a mean of 6\.5;"
    ):
        Results.read(tmp_path)


def test_rows_of_runs_that_the_study_does_not_have_do_not_count(tmp_path: Path) -> None:
    found = results(STUDY, lambda cell, seed: 1.0 + seed, places=declare(STUDY, tmp_path)).evaluations
    found.with_columns(run=pl.lit("other-") + pl.col("run")).write_parquet(tmp_path / TABLE)
    assert Results.read(tmp_path).runs.height == 0
