"""The runner: the same bytes on any number of processes, nothing run twice, nothing that fails kept quiet."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from engram.agents.mfec import MFEC, MFECConfig
from engram.errors import InvalidInputError, StorageError
from engram.files.lock import FolderLock
from engram.lab.outcome import Begun, News, Outcome, StudyError
from engram.lab.runner import run_all
from engram.lab.workers import SPAWN, THREAD_SETTINGS, worker_environment
from engram.runs.folder import RunFolder
from engram.runs.run import Run

FILES = ("config.json", "progress.jsonl", "result.json", "model.safetensors")

LONG_STUDY = """
import sys
from pathlib import Path
from engram.agents.mfec import MFEC, MFECConfig
from engram.lab.runner import run_all
from engram.runs.run import Run

if __name__ == "__main__":
    runs = [Run(MFEC, "CartPole-v1", MFECConfig(seed=seed), steps=10**8) for seed in range(4)]
    run_all(runs, Path(sys.argv[1]), jobs=2)
"""

UNLUCKY = '''
import os
from pathlib import Path
from engram.memory.strategies import Decision, Numbers, Strategy, Write, replace


class Unlucky(Strategy):
    """Fails, or dies, the first time that it is asked for anything; a file remembers that it was."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        mark = Path("HERE") / "unlucky"
        if not mark.exists():
            mark.touch()
            HAPPENS
        return replace(0)
'''


def tiny(strategy: str = "lru", seed: int = 0, env: str = "CartPole-v1") -> Run:
    settings = MFECConfig(strategy=strategy, capacity=20, seed=seed)
    return Run(MFEC, env, settings, 600, evaluation_interval_steps=200, evaluation_episodes=2)


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
    news: list[News] = []
    again = run_all([tiny(), tiny("dkm")], tmp_path, callback=news.append)
    assert first.items() < again.items()
    reused, begun, done = news
    assert isinstance(reused, Outcome)
    assert isinstance(done, Outcome)
    assert (reused.run, reused.reused) == (tiny(), True)
    assert begun == Begun(tiny("dkm"))
    assert (done.run, done.reused) == (tiny("dkm"), False)
    assert made == {path: path.stat().st_mtime_ns for path in made}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_that_fails_twice_is_reported_when_the_others_are_done(tmp_path: Path, jobs: int) -> None:
    bad, good = tiny(env="NoSuchPole-v1"), [tiny(), tiny(seed=1)]
    news: list[News] = []
    with pytest.raises(StudyError, match=f"1 of 3 runs failed.*\n  {bad.id}: .*NoSuchPole") as caught:
        run_all([bad, *good], tmp_path, jobs=jobs, callback=news.append)
    (failure,) = caught.value.failures
    assert failure.run == bad
    assert "make_agent" in failure.traceback
    assert failure.traceback.rstrip() in "".join(traceback.format_exception(caught.value))
    assert (tmp_path / "failures" / f"{bad.id}.txt").read_text() == failure.traceback
    tried = [each.again for each in news if isinstance(each, Outcome) and each.run == bad]
    assert tried == [True, False]
    assert [each.error for each in news if isinstance(each, Outcome) and each.run != bad] == [None, None]
    assert all(RunFolder(tmp_path / run.id).result is not None for run in good)


@pytest.mark.slow
@pytest.mark.parametrize("happens", ["raise OSError('a bad day')", "os._exit(9)", "os.kill(os.getpid(), 9)"])
def test_a_run_that_fails_once_is_run_again_and_the_study_goes_on(
    tmp_path: Path, happens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unlucky_strategy.py").write_text(UNLUCKY.replace("HERE", str(tmp_path)).replace("HAPPENS", happens))
    monkeypatch.syspath_prepend(str(tmp_path))
    from unlucky_strategy import Unlucky  # type: ignore[import-not-found]  # noqa: PLC0415

    unlucky = Run(MFEC, "CartPole-v1", MFECConfig(strategy=Unlucky(), capacity=20), 600, 200, 2)
    news: list[News] = []
    out = tmp_path / "out"
    results = run_all([unlucky, tiny(), tiny(seed=1)], out, jobs=2, callback=news.append)
    assert len(results) == 3
    (first,) = [each for each in news if isinstance(each, Outcome) and each.error is not None]
    assert first.again
    assert first.run.id == unlucky.id
    assert not list(out.glob("failures/*"))
    assert contents(out / unlucky.id / "..") == contents(out)


def test_a_folder_with_another_run_is_left_alone(tmp_path: Path) -> None:
    run_all([tiny()], tmp_path)
    (tmp_path / tiny().id).rename(tmp_path / tiny("dkm").id)
    before = contents(tmp_path)
    with pytest.raises(StudyError, match="already holds another run"):
        run_all([tiny("dkm")], tmp_path)
    assert contents(tmp_path) == before


def test_a_run_from_before_a_setting_was_added_is_the_same_run(tmp_path: Path) -> None:
    run_all([tiny()], tmp_path)
    config = tmp_path / tiny().id / "config.json"
    config.write_text("".join(line for line in config.read_text().splitlines(True) if '"ties"' not in line))
    news: list[News] = []
    run_all([tiny()], tmp_path, callback=news.append)
    assert [isinstance(each, Outcome) and each.reused for each in news] == [True]


def test_a_run_of_another_process_is_waited_for(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / tiny().id).__enter__()
    news: list[News] = []

    def hear(each: News) -> None:
        news.append(each)
        if isinstance(each, Outcome) and each.elsewhere:
            threading.Timer(1.0, lock.__exit__, (None, None, None)).start()

    assert len(run_all([tiny(), tiny("dkm")], tmp_path, callback=hear)) == 2
    outcomes = [each for each in news if isinstance(each, Outcome)]
    assert [each.elsewhere for each in outcomes] == [True, False, False]
    assert not any(each.error for each in outcomes[1:])
    assert not (tmp_path / "failures").exists()


def test_a_run_whose_files_cannot_be_used_is_started_over_if_asked(tmp_path: Path) -> None:
    whole = run_all([tiny(), tiny("dkm")], tmp_path / "whole")
    bad = tmp_path / "out" / tiny().id
    run_all([tiny("dkm")], tmp_path / "out")
    shutil.copytree(tmp_path / "whole" / tiny().id, bad)
    (bad / "result.json").write_text("{")
    before = {path.name: path.read_bytes() for path in bad.glob("*.*")}
    with pytest.raises(StudyError, match=r"1 of 2 runs failed.*\n.*result\.json.*--start-over"):
        run_all([tiny(), tiny("dkm")], tmp_path / "out")
    assert before == {path.name: path.read_bytes() for path in bad.glob("*.*")}
    assert run_all([tiny(), tiny("dkm")], tmp_path / "out", start_over=True) == whole
    assert before == {path.name: path.read_bytes() for path in (bad / "aside-1").iterdir()}
    assert not list((tmp_path / "out" / tiny("dkm").id).glob("aside*")), "a finished run was started over"


def test_a_link_in_the_place_of_a_run_or_of_the_failures_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out" / tiny().id).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StudyError, match="it is a symbolic link where a folder should be"):
        run_all([tiny()], tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "failures")
    (tmp_path / "out" / "failures").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageError, match="failures: it is a symbolic link where a folder should be"):
        run_all([tiny()], tmp_path / "out")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_one_run_given_twice_is_run_once(tmp_path: Path) -> None:
    news: list[News] = []
    assert list(run_all([tiny(), tiny()], tmp_path, callback=news.append)) == [tiny().id]
    assert [type(each) for each in news] == [Begun, Outcome]


def test_the_longest_come_first(tmp_path: Path) -> None:
    runs = [
        Run(MFEC, "CartPole-v1", MFECConfig(capacity=capacity), steps, 200, 1)
        for capacity, steps in [(10, 200), (40, 200), (10, 600)]
    ]
    news: list[News] = []
    run_all(runs, tmp_path, callback=news.append)
    assert [each.run for each in news if isinstance(each, Begun)] == [runs[2], runs[1], runs[0]]


def test_when_a_run_ends_its_worker_has_begun_the_next(tmp_path: Path) -> None:
    runs, running, counted = [tiny(seed=seed) for seed in range(5)], set[str](), list[int]()

    def count(news: News) -> None:
        if isinstance(news, Begun):
            running.add(news.run.id)
        else:
            running.remove(news.run.id)
            counted.append(len(running))

    run_all(runs, tmp_path, jobs=2, callback=count)
    assert counted == [2, 2, 2, 1, 0]


def test_workers_have_one_thread_and_this_process_its_own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREAD_SETTINGS[0], "3")
    monkeypatch.delenv(THREAD_SETTINGS[1], raising=False)
    before = dict(os.environ)
    with worker_environment():
        inside = [os.environ[name] for name in THREAD_SETTINGS]
    assert inside == ["1"] * len(THREAD_SETTINGS)
    assert dict(os.environ) == before
    assert SPAWN.get_start_method() == "spawn"


def test_no_jobs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="jobs must be at least 1, got 0"):
        run_all([tiny()], tmp_path, jobs=0)


@pytest.mark.slow
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
        _, errors = study.communicate(timeout=20)
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
