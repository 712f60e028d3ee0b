"""The runner: the same bytes on any number of processes, nothing run twice, nothing that fails kept quiet."""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from engram.agents.mfec import MFECConfig
from engram.errors import InvalidInputError
from engram.studies.runner import THREAD_SETTINGS, Outcome, StudyError, _surroundings_of_workers, run_all
from engram.training.folder import RunFolder
from engram.training.run import Run

FILES = ("config.json", "progress.jsonl", "result.json", "model.safetensors")

LONG_STUDY = """
import sys
from pathlib import Path
from engram.agents.mfec import MFECConfig
from engram.studies.runner import run_all
from engram.training.run import Run

if __name__ == "__main__":
    runs = [Run("mfec", "CartPole-v1", MFECConfig(seed=seed), steps=10**8) for seed in range(4)]
    run_all(runs, Path(sys.argv[1]), jobs=2)
"""


def tiny(strategy: str = "lru", seed: int = 0, env: str = "CartPole-v1") -> Run:
    settings = MFECConfig(strategy=strategy, capacity=20, seed=seed)
    return Run("mfec", env, settings, 600, evaluation_interval_steps=200, evaluation_episodes=2)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("*/*") if path.name in FILES}


def test_results_do_not_depend_on_the_number_of_processes(tmp_path: Path) -> None:
    runs = [tiny(strategy, seed) for strategy in ("lru", "dkm") for seed in (0, 1)]
    alone = run_all(runs, tmp_path / "alone", jobs=1)
    together = run_all(reversed(runs), tmp_path / "together", jobs=2)
    assert alone == together
    assert list(alone) == [run.id for run in runs]
    assert len(contents(tmp_path / "alone")) == len(runs) * len(FILES)
    assert contents(tmp_path / "alone") == contents(tmp_path / "together")
    assert alone == {run.id: RunFolder(tmp_path / "alone" / run.id).result for run in runs}


def test_finished_runs_are_not_run_again(tmp_path: Path) -> None:
    first = run_all([tiny()], tmp_path)
    made = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*/[mpr]*")}
    outcomes: list[Outcome] = []
    again = run_all([tiny(), tiny("dkm")], tmp_path, callback=outcomes.append)
    assert first.items() < again.items()
    assert [(outcome.run, outcome.reused) for outcome in outcomes] == [(tiny(), True), (tiny("dkm"), False)]
    assert made == {path: path.stat().st_mtime_ns for path in made}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_is_reported_when_the_others_are_done(tmp_path: Path, jobs: int) -> None:
    bad, good = tiny(env="NoSuchPole-v1"), [tiny(), tiny(seed=1)]
    outcomes: list[Outcome] = []
    with pytest.raises(StudyError, match=f"1 of 3 runs failed.*\n  {bad.id}: .*NoSuchPole") as caught:
        run_all([bad, *good], tmp_path, jobs=jobs, callback=outcomes.append)
    (failure,) = caught.value.failures
    assert failure.run == bad
    assert "make_agent" in failure.traceback
    assert failure.traceback.rstrip() in "".join(traceback.format_exception(caught.value))
    assert {outcome.run.id: outcome.error is None for outcome in outcomes} == {
        bad.id: False,
        good[0].id: True,
        good[1].id: True,
    }
    assert all(RunFolder(tmp_path / run.id).result is not None for run in good)


def test_a_folder_with_another_run_is_left_alone(tmp_path: Path) -> None:
    run_all([tiny()], tmp_path)
    (tmp_path / tiny().id).rename(tmp_path / tiny("dkm").id)
    before = contents(tmp_path)
    with pytest.raises(StudyError, match="already holds another run"):
        run_all([tiny("dkm")], tmp_path)
    assert contents(tmp_path) == before


def test_one_run_given_twice_is_run_once(tmp_path: Path) -> None:
    outcomes: list[Outcome] = []
    assert list(run_all([tiny(), tiny()], tmp_path, callback=outcomes.append)) == [tiny().id]
    assert len(outcomes) == 1


def test_the_longest_come_first(tmp_path: Path) -> None:
    runs = [
        Run("mfec", "CartPole-v1", MFECConfig(capacity=capacity), steps, 200, 1)
        for capacity, steps in [(10, 200), (40, 200), (10, 600)]
    ]
    outcomes: list[Outcome] = []
    run_all(runs, tmp_path, callback=outcomes.append)
    assert [outcome.run for outcome in outcomes] == [runs[1], runs[2], runs[0]]


def test_workers_have_one_thread_and_this_process_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREAD_SETTINGS[0], "3")
    monkeypatch.delenv(THREAD_SETTINGS[1], raising=False)
    before = dict(os.environ)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        with _surroundings_of_workers():
            settings = [pool.submit(os.getenv, name) for name in THREAD_SETTINGS]
        assert [setting.result() for setting in settings] == ["1"] * len(THREAD_SETTINGS)
    assert dict(os.environ) == before


def test_no_jobs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="jobs must be at least 1, got 0"):
        run_all([tiny()], tmp_path, jobs=0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups")
@pytest.mark.parametrize("how", ["to the parent", "to the whole group", "killed"])
def test_workers_end_with_the_study(tmp_path: Path, how: str) -> None:
    script = tmp_path / "study.py"
    script.write_text(LONG_STUDY)
    study = subprocess.Popen(
        [sys.executable, script, tmp_path / "out"], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_until(lambda: len(list(tmp_path.glob("out/*/progress.jsonl"))) == 2, 60)
        if how == "to the parent":
            study.send_signal(signal.SIGINT)
        elif how == "to the whole group":  # what Ctrl-C in a terminal does
            os.killpg(study.pid, signal.SIGINT)
        else:
            study.kill()
        _, errors = study.communicate(timeout=10)
        assert study.returncode == (-signal.SIGKILL if how == "killed" else -signal.SIGINT)
        assert errors.count("Traceback") == (0 if how == "killed" else 1)
        wait_until(lambda: not alive(study.pid), 10)
    finally:
        if alive(study.pid):
            os.killpg(study.pid, signal.SIGKILL)


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
