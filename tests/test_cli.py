"""The command line, as a user types it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import engram
from engram.cli import main
from engram.runs.finished import shown_score

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
    assert main(["eval", out, "--episodes", "3", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert len(plain["returns"]) == len(plain["lengths"]) == plain["episodes"] == 3
    assert plain["mean"] == pytest.approx(sum(plain["returns"]) / 3)
    assert f"{shown_score(plain['mean'])} ± {shown_score(plain['std'])}" in told
    score = json.loads((tmp_path / "demo" / "result.json").read_text())["score"]
    assert f"(the run's score, {shown_score(score)}, is the only evaluation while the agent was still learning" in told
    assert main(["eval", out, "--episodes", "3", "--wrapper", "TimeLimit?max_episode_steps=9"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "is that of another environment, CartPole-v1; here it plays in CartPole-v1|TimeLimit?" in told
    assert "still learning" not in told
    assert main(["eval", out, "--explain"]) == 2
    assert "--explain draws beside a film, and none is asked for; name it too: --video" in capsys.readouterr().err


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
    for words in ([], ["--help"]):
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
        "folder.Checkpoints.save = lambda *each, **more: "
        "(save(*each, **more), os._exit(9) if each[1] >= 300 else None); "
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


def test_text_of_the_users_is_printed_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`[/b]` in a path is no markup, nor is `:smile:` an emoji."""
    out = str(tmp_path / "a[/b]:smile:[red]")
    assert main([*TRAIN, "--out", out]) == 0
    assert f"everything about it is in {out}; try: engram eval" in capsys.readouterr().out
    assert main([*TRAIN, "--out", out]) == 0
    assert f"{out} is finished already" in capsys.readouterr().out
    assert main(["eval", f"{out}/[/nothing]"]) == 2
    assert f"{out}/[/nothing]" in capsys.readouterr().err
    assert main(["report", out]) == 0
    assert f"the report is {out}/report/index.html" in capsys.readouterr().out
    assert main(["claims", out]) == 2
    assert f"{out} holds no study" in capsys.readouterr().err
    assert main(["[/b]"]) == 2
    assert "unknown command '[/b]'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "claims"])
def test_commands_that_need_folders_say_so(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command]) == 2
    assert re.search(rf"engram {command} needs (a folder|the folders)", capsys.readouterr().err)


class Bug:
    """Progress of which the display fails."""

    def __init__(self, agent: object, total: int) -> None:
        """Begin."""

    def __enter__(self) -> "Bug":
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing is left open."""

    def __call__(self, event: object) -> None:
        if getattr(event, "step", 0) == 70:
            raise RuntimeError("[/b] nobody thought of this")


def test_a_bug_of_engrams_is_one_line_a_file_and_an_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr("engram.commands.train.ProgressBar", Bug)
        patched.setattr("engram.commands.failures._is_in_engram", lambda frame: True)  # tests are not part of it
        assert main([*TRAIN, "--out", str(out)]) == 70
    told = capsys.readouterr().err
    assert "did not foresee, RuntimeError: [/b] nobody thought of this" in told
    assert f"its traceback is in {out / 'traceback.txt'}" in told
    assert "https://github.com/engram-rl/engram/issues" in told
    assert len(told.splitlines()) == 1
    assert "RuntimeError" in (out / "traceback.txt").read_text()
    assert main([*TRAIN, "--no-progress", "--out", str(out)]) == 0
    assert "going on from step 70" in capsys.readouterr().out


def test_without_a_runs_folder_the_traceback_is_in_a_temporary_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise LookupError("what?")

    monkeypatch.setattr("engram.commands.failures._is_in_engram", lambda frame: True)
    monkeypatch.setattr("engram.commands.report.find_report", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["report", "somewhere"]) == 70
    (file,) = tmp_path.glob("engram-*.txt")
    assert str(file) in capsys.readouterr().err
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    assert main(["report", "somewhere"]) == 70
    assert "its traceback could not be written" in capsys.readouterr().err


OWN = """
from engram.memory.strategies import Strategy
class Broken(Strategy):
    def when_full(self, write, numbers):
        return 1 / 0
"""


def test_an_error_in_a_file_of_the_users_own_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_strategy.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main([*TRAIN, "--strategy", "broken_strategy:Broken", "--out", "run"]) == 2
    told = capsys.readouterr().err
    assert "ZeroDivisionError: division by zero" in told
    assert f"broken_strategy.py, line 5; its traceback is in {tmp_path / 'run' / 'traceback.txt'}" in told


def test_too_little_memory_and_other_errors_of_the_system(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    errors: list[Exception] = [MemoryError(), PermissionError(13, "Permission denied", "there")]

    def fail(*arguments: object) -> None:
        raise errors.pop(0)

    monkeypatch.setattr("engram.commands.report.find_report", fail)
    assert main(["report", "somewhere"]) == 2
    assert "not enough memory" in capsys.readouterr().err
    assert main(["report", "somewhere"]) == 2
    assert "there: Permission denied" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("trained") / "run"
    assert main([*TRAIN, "--no-progress", "--out", str(out)]) == 0
    return out


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command line in a shell, with `engram` as this interpreter's."""
    engram = f"'{sys.executable}' -m engram"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace("engram", engram, 1)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="shells and devices")
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("engram eval RUN --episodes 200 --show | head -1", 0, "episode 0: return"),
        ("engram --help | true", 0, ""),
        ("engram eval RUN >&-", 0, ""),
        ("engram eval RUN 2>&-", 0, "over 10 episodes"),
        ("engram eval RUN <&- >&- 2>&-", 0, ""),
        ("engram eval nowhere >&- 2>&-", 2, ""),
        ("engram eval RUN > /dev/full", 74, ""),
        ("engram eval RUN --show > /dev/full 2>&1", 74, ""),
        ("engram eval nowhere 2> /dev/full", 2, ""),
    ],
)
def test_streams_that_are_closed_or_full(command: str, code: int, said: str, trained: Path) -> None:
    done = shell(command.replace("RUN", str(trained)))
    assert (done.returncode, said in done.stdout) == (code, True), done
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if code == 74 and "2>" not in command:
        assert "the output could not be written: No space left on device" in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="shells")
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"TERM": "dumb"},
        {"COLUMNS": "1", "LINES": "1"},
        {"COLUMNS": "many"},
    ],
)
def test_terminals_of_all_kinds(environment: dict[str, str], tmp_path: Path, trained: Path) -> None:
    done = shell(f"engram eval '{trained}' --episodes 2", **environment)
    assert done.returncode == 0, done.stderr
    assert "over 2 episodes" in done.stdout
    done = shell(f"engram eval {tmp_path}/$'\\xff\\xe4'", **environment)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="shells")
def test_without_a_home_and_in_a_folder_that_is_gone(tmp_path: Path, trained: Path) -> None:
    done = shell(f"unset HOME XDG_CACHE_HOME; engram eval '{trained}'")
    assert done.returncode == 0, done.stderr
    (tmp_path / "gone").mkdir()
    done = shell(f"cd {tmp_path}/gone; rmdir {tmp_path}/gone; engram {' '.join(TRAIN)}")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr
    assert "No such file or directory" in done.stderr
