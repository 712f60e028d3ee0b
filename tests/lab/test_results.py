"""The table of all evaluations: it holds names, and older tables with labels are read as if they did."""

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
