"""Environments with faults: the command line says what the fault is and whose, and what was trained is kept."""

import json
import sys
from pathlib import Path

import pytest

from engram.cli import main
from engram.commands.failures import write_traceback
from engram.files.lock import FolderLock

ID = "tests.commands.faulty:Faulty-v0"
TRAIN = ["train", "mfec", "--steps", "60", "--capacity", "20", "--no-progress", "--evaluation-episodes", "2"]


def train(fault: str, out: Path, *words: str) -> int:
    return main([*TRAIN, "--env", f"{ID}?fault={fault}", "--out", str(out), *words])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("init", "it raised ZeroDivisionError: no [bold]luck[/b] in init; the fault is in the environment"),
        ("reset", "raised an error in its reset() at step 0: ZeroDivisionError: no [bold]luck[/b] in reset"),
        ("step", "raised an error in its step() at step 30: ZeroDivisionError: no [bold]luck[/b] in step"),
        ("old reset", "reset() must return an observation and a dict"),
        ("reset info", "reset() must return an observation and a dict, got None for the dict"),
        ("reset none", "reset() must return an observation and a dict, got another form"),
        ("old step", "four values are the interface of gym before 0.26"),
        ("step none", "step() must return an observation, a reward, terminated, truncated and a dict"),
        ("reward array", "gave the reward array([1., 1.]) at step 30; it must be a number"),
        ("reward vector", "gave the reward array([1.]) at step 30; it must be a number"),
        ("reward none", "gave the reward None at step 30; it must be a number"),
        ("reward text", "gave the reward '1.5' at step 30; it must be a number"),
        ("reward nan", "gave the reward nan at step 30; it must be a number of at most"),
        ("terminated array", "for 'terminated' at step 30; it must be True or False"),
        ("terminated none", "gave None for 'terminated' at step 30; it must be True or False"),
        ("truncated text", "gave 'False' for 'truncated' at step 30; it must be True or False"),
        ("info none", "step() must return an observation, a reward, terminated, truncated and a dict"),
        ("shape", "gave an observation of shape (3,) at step 30, but its observation space has (2,)"),
        ("text", "gave an observation of shape () at step 30"),
        ("nothing", "gave an observation of shape () at step 30"),
        ("ragged", "at step 30 must be an array of numbers"),
        ("nan", "at step 30 must be finite"),
    ],
)
def test_a_fault_is_told_in_a_sentence(
    fault: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(fault, tmp_path / "run") == 2
    told = capsys.readouterr().err
    assert said in told, told
    assert "Traceback" not in told


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "GeneratorExit", "Odd"])
@pytest.mark.parametrize(("place", "saved"), [("step", 29), ("reset", 0), ("init", None)])
def test_what_is_no_exception_is_the_environments_fault_too(
    kind: str, place: str, saved: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(f"{kind} in {place}", tmp_path / "run") == 2
    told = capsys.readouterr().err
    assert f"{kind}: out; the fault is in the environment" in told
    assert saved is None or (tmp_path / "run" / f"checkpoint-{saved:012d}.safetensors").exists()


@pytest.mark.parametrize("fault", ["close", "SystemExit in close"])
def test_an_environment_that_cannot_be_closed_spoils_nothing(
    fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert train(fault, tmp_path / "run") == 0
    assert "warning: the environment raised an error in its close():" in caplog.text
    caplog.clear()
    words = ["eval", str(tmp_path / "run"), "--env", f"{ID}?fault={fault}", "--video", str(tmp_path / "film.gif")]
    assert main([*words, "--episodes", "1"]) == 0
    assert caplog.text.count("warning: the environment raised an error in its close():") == 2


def test_an_environment_that_goes_to_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert train("chdir", Path("run"), "--checkpoint-interval-steps", "20") == 0
    assert (tmp_path / "run" / "result.json").exists()
    monkeypatch.chdir(tmp_path)
    words = ["eval", "run", "--env", f"{ID}?fault=chdir", "--episodes", "1", "--video", "film.gif"]
    assert main(words) == 0
    assert (tmp_path / "film.gif").exists()


def test_a_traceback_is_not_written_where_another_process_works(tmp_path: Path) -> None:
    with FolderLock(tmp_path):
        elsewhere = write_traceback(ValueError("no luck"), tmp_path)
    assert elsewhere is not None
    assert elsewhere.parent != tmp_path
    elsewhere.unlink()
    assert write_traceback(ValueError("no luck"), tmp_path) == tmp_path / "traceback.txt"


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be deleted there")
def test_a_working_directory_that_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert train("none", Path("run")) == 2
    assert "cannot find run: the current folder was deleted" in capsys.readouterr().err
    assert train("none", tmp_path / "run") == 0


def test_what_was_trained_is_kept_and_the_traceback_is_in_the_runs_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train("step", tmp_path / "run") == 2
    assert f"its traceback is in {tmp_path / 'run' / 'traceback.txt'}" in capsys.readouterr().err
    assert "ZeroDivisionError: no [bold]luck[/b] in step" in (tmp_path / "run" / "traceback.txt").read_text()
    assert (tmp_path / "run" / "checkpoint-000000000029.safetensors").exists()
    assert train("step", tmp_path / "run") == 2
    assert "going on from step 29" in capsys.readouterr().out


@pytest.mark.parametrize("fault", ["none", "doubles"])
def test_other_numbers_than_python_floats_are_fine(fault: str, tmp_path: Path) -> None:
    assert train(fault, tmp_path / "run") == 0
    assert main(["train", "--resume", str(tmp_path / "run"), "--env", f"{ID}?fault={fault}"]) == 0


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("render", "raised an error in its render()"),
        ("SystemExit in render", "raised an error in its render() at step 0: SystemExit: out"),
        ("render none", "cannot be filmed: render() must return bytes of shape (height, width, 3), got None"),
        ("render text", "cannot be filmed: render() must return bytes of shape (height, width, 3), got 'picture'"),
        ("render floats", "got an array of float64 and shape (4, 4, 3)"),
    ],
)
def test_an_environment_that_cannot_be_filmed(
    fault: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train(fault, tmp_path / "run") == 0
    words = ["eval", str(tmp_path / "run"), "--env", f"{ID}?fault={fault}", "--video", str(tmp_path / "film.gif")]
    assert main([*words, "--episodes", "1"]) == 2
    assert said in capsys.readouterr().err


def test_episodes_of_evaluations_are_cut_off_where_the_environment_has_no_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engram.training.evaluation.MOST_STEPS", 40)
    assert train("endless", tmp_path / "run", "--evaluation-interval-steps", "30") == 0
    assert "episodes of evaluations are cut off after 40 steps" in capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "config.json").read_text())["evaluation_max_steps"] == 40
    lengths = [json.loads(line)["lengths"] for line in (tmp_path / "run" / "progress.jsonl").read_text().splitlines()]
    assert lengths == [[40, 40], [40, 40]]
    words = ["eval", str(tmp_path / "run"), "--env", f"{ID}?fault=endless"]
    assert main([*words, "--episodes", "2"]) == 0
    assert "2 of them had not ended after 40 steps" in capsys.readouterr().out
    assert main([*words, "--episodes", "2", "--max-steps", "7", "--show"]) == 0
    assert "return 7 in 7 steps" in capsys.readouterr().out


def test_a_limit_that_is_given_holds_and_a_registered_one_suffices(tmp_path: Path) -> None:
    assert main([*TRAIN, "--out", str(tmp_path / "one")]) == 0
    assert json.loads((tmp_path / "one" / "config.json").read_text())["evaluation_max_steps"] is None
    assert main([*TRAIN, "--evaluation-max-steps", "20", "--out", str(tmp_path / "two")]) == 0
    assert json.loads((tmp_path / "two" / "config.json").read_text())["evaluation_max_steps"] == 20
