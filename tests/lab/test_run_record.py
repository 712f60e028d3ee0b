"""What a run's page is made from."""

import json
from pathlib import Path

import numpy as np
import pytest

from engram.errors import RunFolderError, UnusableRunError
from engram.lab.run_record import RunRecord, Series
from tests.faults.power import CADENCE, TINY
from tests.faults.storage import interrupted
from tests.faults.tally import finish


def test_a_long_series_is_thinned_to_means() -> None:
    series = Series(np.arange(10.0), np.arange(10.0)).thinned(5)
    assert series.steps.tolist() == [1, 3, 5, 7, 9]
    assert series.values.tolist() == [0.5, 2.5, 4.5, 6.5, 8.5]
    assert Series.of([]).thinned(3).values.shape == (0,)


def test_a_finished_run_is_read_with_its_metrics(tmp_path: Path) -> None:
    finish(TINY, tmp_path / "run", CADENCE)
    log = tmp_path / "run" / "progress.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    lines[0]["metrics"] = {"memory/fill": 0.25}
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = RunRecord.read(tmp_path / "run")
    assert run.evaluations.steps.tolist() == [30, 60, 90]
    assert (run.lowest <= run.evaluations.values).all()
    assert (run.evaluations.values <= run.highest).all()
    assert len(run.episodes.steps) == run.result["episodes"]
    assert run.metrics["memory/fill"].values.tolist() == [0.25]
    assert run.meta["seconds"] >= 0


def test_the_last_line_of_an_interrupted_run_may_be_broken(tmp_path: Path) -> None:
    folder = interrupted(TINY, tmp_path / "run", at=70)
    with (folder / "progress.jsonl").open("a") as file:
        file.write('{"event": "epis')
    run = RunRecord.read(folder)
    assert run.glance.state == "interrupted"
    assert len(run.evaluations.steps) == 2


def test_what_is_no_run_and_what_is_damaged_is_said(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="neither a run nor a study"):
        RunRecord.read(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(UnusableRunError, match="should be a mapping"):
        RunRecord.read(tmp_path)
