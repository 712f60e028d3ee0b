"""A run that goes on beyond its end: what comes out is what a longer run gives that was begun anew."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engram.agents import find_agent
from engram.cli import main
from engram.errors import InvalidInputError, StorageError
from engram.lab.grid import Grid, Study
from engram.lab.study_folder import StudyFolder
from engram.runs import extending
from engram.runs.cadence import Cadence
from engram.runs.extending import extend
from engram.runs.folder import RunFolder
from engram.runs.run import Run

DETERMINED = ("config.json", "progress.jsonl", "model.safetensors", "result.json")
SETTINGS: dict[str, dict[str, Any]] = {
    "mfec": {"capacity": 20, "strategy": "dkm"},
    "nec": {"capacity": 20, "learning_start_steps": 50, "encoder": "scaled:steps=60"},
    "d3qn": {"learning_start_steps": 50, "target_update_steps": 70},
}


def short(agent: str) -> Run:
    kind = find_agent(agent)
    return Run(kind, "CartPole-v1", kind.Config.from_settings({**SETTINGS[agent], "seed": 3}), 250, 60, 2)


def carry_out(run: Run, path: Path) -> RunFolder:
    folder = RunFolder(path)
    folder.record(run, run.make_agent(), tell=lambda text: None)
    return folder


def products(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in DETERMINED}


@pytest.mark.parametrize("agent", SETTINGS)
def test_a_finished_run_that_goes_on_equals_one_that_was_longer_from_the_start(agent: str, tmp_path: Path) -> None:
    folder, told = carry_out(short(agent), tmp_path / "run"), list[str]()
    before = products(folder.path)
    longer = extend(folder, folder.run(), 400, told.append)
    assert folder.result is None
    folder.record(longer, longer.make_agent(), tell=told.append)
    whole = carry_out(replace(short(agent), steps=400), tmp_path / "whole")
    assert products(folder.path) == products(whole.path)
    assert "going on from step 250" in told
    aside = folder.path / "aside-1"
    for name in ("config.json", "model.safetensors", "result.json"):
        assert (aside / name).read_bytes() == before[name]


def test_an_interrupted_run_takes_the_new_length(tmp_path: Path) -> None:
    def stopping(event: object) -> None:
        if getattr(event, "step", 0) == 130:
            raise KeyboardInterrupt

    run, folder = short("mfec"), RunFolder(tmp_path / "run")
    with pytest.raises(KeyboardInterrupt):
        folder.record(run, run.make_agent(), (stopping,), cadence=Cadence(steps=50), tell=lambda text: None)
    longer, told = extend(folder, folder.run(), 400), list[str]()
    folder.record(longer, longer.make_agent(), tell=told.append)
    assert told == ["going on from step 100"]
    assert products(folder.path) == products(carry_out(replace(run, steps=400), tmp_path / "whole").path)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, from which every test takes a copy."""
    return carry_out(short("mfec"), tmp_path_factory.mktemp("finished") / "run").path


@pytest.mark.parametrize("broken_at", ["move_aside", "write_atomically"])
def test_a_failure_on_the_way_leaves_a_run_that_the_same_call_goes_on_with(
    broken_at: str, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(shutil.copytree(finished, tmp_path / "run"))

    def fail(*args: object) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(extending, broken_at, fail)
        with pytest.raises(StorageError):
            extend(folder, folder.run(), 400)
    folder.record(folder.run(), folder.run().make_agent(), tell=lambda text: None)
    assert folder.result is not None
    assert folder.result["steps"] == 250
    longer = extend(folder, folder.run(), 400)
    folder.record(longer, longer.make_agent(), tell=lambda text: None)
    assert products(folder.path) == products(carry_out(replace(short("mfec"), steps=400), tmp_path / "whole").path)


def test_a_run_cannot_become_shorter_and_the_same_length_changes_nothing(finished: Path, tmp_path: Path) -> None:
    folder = RunFolder(shutil.copytree(finished, tmp_path / "run"))
    with pytest.raises(InvalidInputError, match=r"was begun with 250 steps, so steps must be 250 or more, got 200"):
        extend(folder, folder.run(), 200)
    assert extend(folder, folder.run(), 250) == folder.run()
    assert products(folder.path) == products(finished)


def test_the_command_goes_on_and_prints_what_can_be_typed(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copytree(finished, tmp_path / "run")
    assert main(["train", "--resume", str(path)]) == 0
    hint = f"engram train --resume {path} --steps 500"
    assert hint in " ".join(capsys.readouterr().out.split())
    assert main([*hint.split()[1:], "--no-progress"]) == 0
    assert json.loads((path / "result.json").read_text())["steps"] == 500
    assert main(["train", "--resume", str(path), "--steps", "600", "--start-over"]) == 2
    assert "give one of them" in capsys.readouterr().err


def test_resume_with_an_agent_is_answered_with_the_right_command(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["train", "mfec", "--resume", "runs/x"], ["train", "mfec", "--resume=runs/x"]):
        assert main(words) == 2
        assert "engram train --resume FOLDER" in " ".join(capsys.readouterr().err.split())


def test_runs_of_a_study_keep_its_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 40, (0,), sizes=(5,)),))
    (run,) = study.runs()
    StudyFolder(tmp_path).declare(study, [run])
    carry_out(run, tmp_path / run.id)
    assert main(["train", "--resume", str(tmp_path / run.id), "--steps", "80"]) == 2
    assert "belongs to the study 'mine'" in " ".join(capsys.readouterr().err.split())
