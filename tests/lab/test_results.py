"""What a study's folder holds: no run is mixed with another, and a report takes the place of none."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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


def written(folder: Path, seeds: Sequence[int], steps: int = 1_000) -> Results:
    """The results of some of the study's seeds, in a folder that has no runs."""
    study = replace(STUDY, grids=tuple(replace(grid, seeds=seeds, steps=steps) for grid in STUDY.grids))
    results(study, lambda cell, seed: 1.0 + seed, places=declare(study, folder)).export(folder)
    return Results.read(folder)


def test_a_report_takes_the_place_of_no_run_that_it_does_not_have(tmp_path: Path) -> None:
    whole, part = written(tmp_path / "whole", range(4)), written(tmp_path / "part", range(2))
    before = {name: (tmp_path / "whole" / name).read_bytes() for name in ("study.json", TABLE)}
    with pytest.raises(
        RunFolderError, match=r"whole holds finished runs that .*part does not have \(6, such as .*--reuse"
    ):
        part.export(tmp_path / "whole")
    assert {name: (tmp_path / "whole" / name).read_bytes() for name in before} == before
    part.export(tmp_path / "part")
    whole.export(tmp_path / "part")  # more than there was
    assert Results.read(tmp_path / "part").evaluations.equals(whole.evaluations)


def test_runs_with_folders_of_their_own_count_as_well(tmp_path: Path) -> None:
    whole, part = written(tmp_path / "whole", range(2)), written(tmp_path / "part", range(1))
    (tmp_path / "whole" / TABLE).unlink()
    part.export(tmp_path / "whole")
    declare(STUDY, tmp_path / "whole")
    run = whole.runs["run"][1]
    (tmp_path / "whole" / run).mkdir()
    (tmp_path / "whole" / run / "result.json").write_text("{}")
    with pytest.raises(RunFolderError, match=rf"\(1, such as {run}\)"):
        part.export(tmp_path / "whole")


def test_a_report_leaves_out_what_its_study_has_replaced(tmp_path: Path) -> None:
    written(tmp_path / "study", range(2)).export(tmp_path / "page")
    changed = written(tmp_path / "study", range(2), steps=500)
    assert len(changed.earlier.replaced) == changed.runs.height == 6
    changed.export(tmp_path / "page")
    assert set(Results.read(tmp_path / "page").runs["run"]) == set(changed.runs["run"])


def test_a_table_that_cannot_be_read_may_be_replaced(tmp_path: Path) -> None:
    whole = written(tmp_path / "whole", range(2))
    whole.export(tmp_path / "page")
    (tmp_path / "page" / TABLE).write_bytes(b"PAR1")
    whole.export(tmp_path / "page")
    assert Results.read(tmp_path / "page").evaluations.equals(whole.evaluations)


def test_two_runs_of_one_cell_and_seed_are_refused(tmp_path: Path) -> None:
    written(tmp_path, range(2))
    read = json.loads((tmp_path / "study.json").read_text())
    first, second = list(read["runs"])[:2]
    read["runs"][second]["seed"] = 0
    (tmp_path / "study.json").write_text(json.dumps(read))
    told = rf"study\.json has two runs of CartPole-v1, mfec, lru, 50, seed 0: {first} and {second}; put it back"
    with pytest.raises(RunFolderError, match=told):
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
