"""The first compile: told, shared with a second process, and not counted as training."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from engram.compiling import PACKAGE
from engram.memory import EpisodicMemory
from engram.memory.rehearsal import Rehearsal
from engram.memory.strategies import Strategy
from engram.memory.strategies.base import Numbers, Write
from engram.memory.strategies.decisions import Decision, replace
from engram.training.compilation import FIRST, CompileNotice
from engram.training.progress import ProgressBar, as_many_as_fit


class Own(Strategy):
    """A strategy that no other process knows."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        """Forget the first."""
        return replace(0)


def test_another_process_compiles_only_what_it_can_make() -> None:
    memory = EpisodicMemory(actions=2, key_size=4, capacity=10)
    assert Rehearsal.is_possible(memory)
    assert not Rehearsal.is_possible(None)
    assert not Rehearsal.is_possible(EpisodicMemory(actions=2, key_size=4, capacity=10, strategy=Own()))


def test_it_says_when_each_kernel_is_there_and_ends_when_told() -> None:
    memory = EpisodicMemory(actions=2, key_size=4, capacity=10, strategy="dkm:decay=0.3")
    rehearsal = Rehearsal(memory)
    for kernel in rehearsal.kernels:
        rehearsal.wait_for(kernel)
    assert rehearsal._done == set(rehearsal.kernels)
    rehearsal.wait_for("never")  # which returns, as the process has ended
    rehearsal.close()


def test_nothing_is_said_where_nothing_is_compiled() -> None:
    memory = EpisodicMemory(actions=2, key_size=4, capacity=10)
    memory.write(0, [[0, 0, 0, 0]], [1.0])
    told: list[str] = []
    with CompileNotice(told.append, memory=memory):
        memory.write(0, [[0, 0, 0, 1]], [1.0])
    assert told == []


FRESH = "train mfec --steps 40 --evaluation-interval-steps 40 --evaluation-episodes 1 --out"


@pytest.mark.slow
def test_a_fresh_installation_says_that_it_compiles_and_the_second_run_does_not(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "engram", ignore=shutil.ignore_patterns("__pycache__"))

    def train(out: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "COLUMNS": "200"}
        words = [sys.executable, "-m", "engram", *FRESH.split(), str(tmp_path / out)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    assert train("first").count(FIRST) == 1
    assert FIRST not in train("second")
    for name in ("model.safetensors", "progress.jsonl"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_no_number_of_the_bar_is_ever_cut(width: int, tmp_path: Path) -> None:
    class Shown:
        """An agent as the bar sees it."""

        name = "mfec"
        steps = 123_456
        memory = EpisodicMemory(actions=2, key_size=4, capacity=10)

        class exploration:  # noqa: N801
            """Exploration with an ε."""

            @staticmethod
            def random_share(step: int) -> float:
                """ε."""
                return 0.123

    with (tmp_path / "screen").open("w") as file:
        console = Console(file=file, force_terminal=True, width=width, color_system=None)
        with ProgressBar(Shown(), 1_000_000, console=console) as bar:
            bar._last_return, bar._last_evaluation = "-1234.5", "-1000"
    last = [line for line in (tmp_path / "screen").read_text().splitlines() if "steps/s" in line][-1]
    assert "…" not in last
    assert ("evaluation -1000" in last) == (width >= 80)
    assert ("memory 0%" in last) == (width >= 200)


def test_as_many_parts_as_fit() -> None:
    assert as_many_as_fit(["abc", "de", "f"], 0) == "abc"
    assert as_many_as_fit(["abc", "de", "f"], 8) == "abc · de"
    assert as_many_as_fit(["abc", "de", "f"], 12) == "abc · de · f"


def test_a_process_that_is_stopped_is_not_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engram.memory.rehearsal.LONGEST_WAIT", 0.2)
    rehearsal = Rehearsal(EpisodicMemory(actions=2, key_size=4, capacity=10))
    os.kill(rehearsal._process.pid, signal.SIGSTOP)
    for kernel in rehearsal.kernels:
        rehearsal.wait_for(kernel)
    assert rehearsal._process.poll() == -signal.SIGKILL
    rehearsal.close()
