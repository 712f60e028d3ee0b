"""Signals end commands within seconds wherever they are, with everything saved that can be, and say how to go on."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from engram.cli import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals")

ENV = "tests.commands.hanging:Hanging-v0"
TRAIN = ["train", "mfec", "--env", ENV, "--steps", "300", "--capacity", "20", "--no-progress"]
EVALUATION = ["--evaluation-interval-steps", "50", "--evaluation-episodes", "2"]
SECONDS = 30.0  # five are promised; a machine that is busy with something else may be slower
SAVED = "with everything saved; go on with: engram train --resume"


class Ended(NamedTuple):
    code: int
    said: str
    seconds: float  # from the signal to the end


def interrupt(words: list[str], number: int, hang: str = "", *, delay: float = 0.0, **environment: str) -> Ended:
    """Run a command, send it a signal when its environment hangs, or after a delay, and wait for its end."""
    everything = {**os.environ, "HANG": hang or "nowhere:sleep:0", **environment}
    command = [sys.executable, "-m", "engram", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, env=everything, **pipes) as process:  # type: ignore[call-overload]
        try:
            while hang and "hanging" not in (line := process.stdout.readline()):
                assert line, process.stderr.read()
            time.sleep(delay or 0.2)
            sent = time.monotonic()
            process.send_signal(number)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    return Ended(process.returncode, said, time.monotonic() - sent)


EARLY = """
import builtins, os, runpy, signal, sys
real = builtins.__import__

def importing(name, *rest):
    if name == "gymnasium":
        os.kill(os.getpid(), signal.SIGINT)
    return real(name, *rest)

builtins.__import__ = importing
sys.argv, sys.orig_argv = {argv}, {orig_argv}
from engram.cli import entry
"""


@pytest.mark.parametrize(
    ("argv", "orig_argv"),
    [(["-m", "--help"], ["python", "-m", "engram", "--help"]), (["/bin/engram"], ["python", "/bin/engram"])],
)
def test_ctrl_c_while_libraries_are_imported(argv: list[str], orig_argv: list[str]) -> None:
    program = EARLY.format(argv=argv, orig_argv=orig_argv)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


def test_ctrl_c_while_a_program_imports_the_library_is_its_own() -> None:
    program = EARLY.format(argv=["mine.py"], orig_argv=["python", "mine.py"])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "KeyboardInterrupt" in done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that nothing interrupted."""
    out = tmp_path_factory.mktemp("whole") / "run"
    assert main([*TRAIN, *EVALUATION, "--out", str(out)]) == 0
    return out


@pytest.mark.parametrize(
    ("hang", "number", "step"),
    [
        ("step:sleep:40", signal.SIGINT, 39),
        pytest.param("step:loop:60", signal.SIGTERM, 59, marks=pytest.mark.slow),
        ("step:swallow:60", signal.SIGTERM, 59),
        pytest.param("reset:sleep:12", signal.SIGHUP, 77, marks=pytest.mark.slow),
        pytest.param("reset:loop:12", signal.SIGINT, 77, marks=pytest.mark.slow),
        ("evaluation:sleep:1", signal.SIGTERM, 50),
        pytest.param("evaluation:loop:10", signal.SIGINT, 100, marks=pytest.mark.slow),
    ],
)
def test_an_environment_that_hangs_is_given_up_with_a_checkpoint_of_the_last_whole_step(
    hang: str, number: int, step: int, whole: Path, tmp_path: Path
) -> None:
    out, seen = tmp_path / "run", ["--log", "csv", "--checkpoint-interval-steps", "100"]
    ended = interrupt([*TRAIN, *EVALUATION, *seen, "--out", str(out)], number, hang)
    assert ended.code == 128 + number, ended.said
    assert f"stopped at step {step}, {SAVED}" in ended.said
    assert "Traceback" not in ended.said
    assert ended.seconds < SECONDS
    assert (out / f"checkpoint-{step:012d}.safetensors").exists()
    going_on = shlex.split(ended.said.partition("go on with: engram ")[2])
    assert {"--no-progress", *seen} < set(going_on), "options that the folder does not keep"
    assert main(going_on) == 0
    assert (out / "logs" / "progress.csv").exists()
    for name in ("config.json", "progress.jsonl", "result.json", "model.safetensors"):
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name


@pytest.mark.slow
def test_code_that_holds_the_interpreters_lock_is_ended_and_the_last_checkpoint_stands(tmp_path: Path) -> None:
    words = [*TRAIN, "--checkpoint-interval-steps", "10", "--out", str(tmp_path / "run")]
    ended = interrupt(words, signal.SIGTERM, "step:lock:35")
    assert ended.code == 128 + signal.SIGTERM
    assert "which was given up; the checkpoint of step 30 stands; go on with: engram train --resume" in ended.said
    assert ended.seconds < SECONDS
    assert main(["train", "--resume", str(tmp_path / "run"), "--env", ENV, "--no-progress"]) == 0


@pytest.mark.parametrize("delay", [5.0, pytest.param(8.0, marks=pytest.mark.slow)])  # after the imports
def test_while_kernels_are_compiled(delay: float, tmp_path: Path) -> None:
    words = [*TRAIN, "--steps", "100000", "--out", str(tmp_path / "run")]
    ended = interrupt(words, signal.SIGINT, delay=delay, NUMBA_CACHE_DIR=str(tmp_path / "kernels"))
    assert ended.code == 130, ended.said
    assert "Traceback" not in ended.said
    assert ended.seconds < SECONDS


@pytest.mark.parametrize("how", ["sleep", *(pytest.param(how, marks=pytest.mark.slow) for how in ("swallow", "lock"))])
def test_eval_ends_too(how: str, whole: Path) -> None:
    ended = interrupt(["eval", str(whole), "--env", ENV], signal.SIGTERM, f"evaluation:{how}:3")
    assert ended.code == 143
    assert "stopped; what is finished is kept" in ended.said
    assert "Traceback" not in ended.said
    assert ended.seconds < SECONDS


@pytest.mark.parametrize(
    ("number", "hang"),
    [
        (signal.SIGINT, "step:sleep:40"),
        pytest.param(signal.SIGTERM, "step:swallow:40", marks=pytest.mark.slow),
    ],
)
def test_a_study_ends_with_its_workers(number: int, hang: str, tmp_path: Path) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(f'agent = "mfec"\nenv = "{ENV}"\nsteps = 300\nseeds = 2\nsizes = [20]\n')
    ended = interrupt(["study", str(study), "--jobs", "2", "--out", str(tmp_path / "out")], number, hang)
    assert ended.code == 128 + number, ended.said
    assert "the same command goes on from there" in ended.said
    assert "Traceback" not in ended.said
    assert ended.seconds < SECONDS
    checkpoints = list((tmp_path / "out").glob("*/checkpoint-000000000039.safetensors"))
    assert 1 <= len(checkpoints) <= 2, "the worker whose environment was seen to hang has saved its run"
    assert main(["study", str(study), "--jobs", "1", "--out", str(tmp_path / "out")]) == 0


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As with `nohup`."""
    program = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); from engram.cli import main; "
        "os.kill(os.getpid(), signal.SIGHUP); "
        f"code = main({[*TRAIN, '--steps', '50', '--out', str(tmp_path / 'run')]!r}); "
        "os.kill(os.getpid(), signal.SIGHUP); sys.exit(code)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
