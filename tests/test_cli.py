"""The command line, as a user types it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import engram
from engram.cli import main

TRAIN = ["train", "mfec", "--steps", "600", "--capacity", "20", "--evaluation-episodes", "2", "--seed", "1"]


def test_train_then_eval(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "demo")
    assert main([*TRAIN, "--env", "CartPole-v1", "--strategy", "dkm:decay=0.3", "--out", out]) == 0
    captured = capsys.readouterr()
    assert "cartpole-mfec-dkm-20-s1-" in captured.out
    assert "600/600 steps" in captured.err
    assert json.loads((tmp_path / "demo" / "config.json").read_text())["settings"]["strategy"]["decay"] == 0.3
    assert main(["eval", out, "--episodes", "3", "--show"]) == 0
    told = capsys.readouterr().out
    assert "episode 2: return" in told
    assert "over 3 episodes" in told


def test_a_finished_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*TRAIN, "--no-progress", "--out", str(tmp_path / "run")]
    assert main(command) == 0
    before = (tmp_path / "run" / "meta.json").read_bytes()
    assert main(command) == 0
    assert "is finished already" in " ".join(capsys.readouterr().out.split())
    assert (tmp_path / "run" / "meta.json").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--env", "CartPol-v1"], "did you mean 'CartPole-v1'"),
        (["--strategy", "dmk"], "did you mean 'dkm'"),
        (["--capacity", "0"], "capacity must be at least 1, got 0"),
        (["--steps", "0"], "steps must be at least 1, got 0"),
        (["--neighbours", "0"], "neighbours must be at least 1, got 0"),
    ],
)
def test_bad_options_end_with_a_message_and_code_2(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*TRAIN, *words, "--out", str(tmp_path / "run")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert message in told
    assert "Traceback" not in told
    assert not (tmp_path / "run").exists()


def test_a_folder_with_another_run_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [*TRAIN, "--no-progress", "--out", str(tmp_path / "run")]
    assert main(command) == 0
    assert main([*command, "--capacity", "21"]) == 2
    assert "already holds another run" in " ".join(capsys.readouterr().err.split())
    assert main(["eval", str(tmp_path / "nothing")]) == 2
    assert "there is no model file" in capsys.readouterr().err


def test_help_version_and_unknown_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"engram {engram.__version__}\n"
    for words in ([], ["--help"], ["train"]):
        assert main(words) == 0
        assert "engram train mfec --env CartPole-v1" in capsys.readouterr().out
    with pytest.raises(SystemExit) as ended:
        main(["train", "mfec", "--help"])
    assert ended.value.code == 0
    assert "entries per action" in capsys.readouterr().out
    assert main(["trian", "mfec"]) == 2
    assert "unknown command 'trian'; did you mean 'train'" in capsys.readouterr().err


def test_the_core_never_imports_what_is_optional(tmp_path: Path) -> None:
    """Training MFEC needs neither torch nor matplotlib, Ray or ale-py."""
    program = (
        "import sys; from engram.cli import main; "
        f"main(['train', 'mfec', '--steps', '300', '--no-progress', '--out', {str(tmp_path / 'run')!r}]); "
        "sys.exit(bool({'torch', 'matplotlib', 'ray', 'ale_py'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_an_interrupted_run_is_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same command again, and --resume, both go on; what comes out equals an uninterrupted run."""
    whole, part = (str(tmp_path / name) for name in ("whole", "part"))
    assert main([*TRAIN, "--no-progress", "--out", whole]) == 0
    program = (
        "import os, sys; from engram.runs import folder; from engram.cli import main; "
        "save = folder.Checkpoints.save; "
        "folder.Checkpoints.save = lambda *each: (save(*each), os._exit(9) if each[1] >= 300 else None); "
        f"main({[*TRAIN, '--no-progress', '--checkpoint-interval-steps', '100', '--out', part]!r})"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    capsys.readouterr()
    assert main(["train", "--resume", part, "--no-progress"]) == 0
    assert "going on from step 300" in capsys.readouterr().out
    for name in ("config.json", "progress.jsonl", "result.json", "model.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "part" / name).read_bytes(), name
    assert main(["train", "--resume", part]) == 0
    assert "is finished already" in capsys.readouterr().out
