"""`engram runs`: every state is told, the order is the one that was asked for, and nothing is changed."""

import json
import os
import shutil
from pathlib import Path

import pytest

from engram.cli import main
from engram.files.lock import FolderLock
from engram.runs.glance import glance_at
from tests.faults.power import CADENCE, TINY
from tests.faults.storage import interrupted
from tests.faults.tally import finish


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run, an interrupted one, and one whose config is no JSON."""
    folder = tmp_path_factory.mktemp("runs")
    finish(TINY, folder / "a-finished", CADENCE)
    interrupted(TINY, folder / "b-interrupted", at=70)
    (folder / "c-broken").mkdir()
    (folder / "c-broken" / "config.json").write_text("{")
    (folder / "notes").mkdir()
    for number, name in enumerate(("a-finished", "c-broken", "b-interrupted")):
        for path in (folder / name).iterdir():
            os.utime(path, (1e9 + number, 1e9 + number))
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "runs")


def listed(folder: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert main(["runs", str(folder), "--json", *words]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_every_state_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    found = {Path(str(run["folder"])).name: run for run in listed(folder, capsys=capsys)}
    assert {name: run["state"] for name, run in found.items()} == {
        "a-finished": "finished",
        "b-interrupted": "interrupted",
        "c-broken": "unusable",
    }
    assert found["a-finished"]["taken"] == found["a-finished"]["steps"] == TINY.steps
    assert found["b-interrupted"]["taken"] == 60
    assert "cannot read" in str(found["c-broken"]["why"])
    assert main(["runs", str(folder)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "3 runs: " in told
    assert f"engram train --resume {folder / 'b-interrupted'}" in told
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_run_at_which_a_process_is_at_work_is_running(folder: Path) -> None:
    with FolderLock(folder / "b-interrupted"):
        found = glance_at(folder / "b-interrupted")
        assert found is not None
        assert found.state == "running"


def test_the_order_is_the_one_that_was_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def order(by: str) -> str:
        return "".join(Path(str(run["folder"])).name[0] for run in listed(folder, "--sort", by, capsys=capsys))

    assert order("name") == "abc"
    assert order("age") == "bac"  # of the unusable one nothing is known
    scores = [run["score"] for run in listed(folder, "--sort", "score", capsys=capsys) if run["state"] != "unusable"]
    assert scores == sorted(scores, reverse=True)  # type: ignore[type-var]


def test_a_single_run_a_folder_without_runs_and_none_at_all(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [run["state"] for run in listed(folder / "a-finished", capsys=capsys)] == ["finished"]
    assert main(["runs", str(folder / "notes")]) == 0
    assert "holds no runs; train one" in " ".join(capsys.readouterr().out.split())
    assert main(["runs", str(folder / "gone")]) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value"),
    [("evaluation_interval_steps", "often"), ("evaluation_episodes", None), ("evaluation_epsilon", [])],
)
def test_a_config_whose_numbers_are_none_is_told(
    name: str, value: object, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "a-finished" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {name: value}))
    found = {Path(str(run["folder"])).name: run for run in listed(folder, capsys=capsys)}
    assert f"config.json does not describe a run: {name} must be" in str(found["a-finished"]["why"])
    for command in ("report", "eval"):
        assert main([command, str(path.parent)]) in (0, 2)
        assert "did not foresee" not in capsys.readouterr().err


def test_a_capacity_that_is_no_number_is_shown_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "a-finished" / "config.json"
    config = json.loads(path.read_text())
    config["settings"]["capacity"] = "plenty"
    path.write_text(json.dumps(config))
    assert main(["runs", str(folder)]) == 0
    assert "plenty" in capsys.readouterr().out
