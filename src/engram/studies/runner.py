"""Carries out many runs, each into a folder of its own, on as many processes as there are cores to use.

What comes out depends neither on the number of processes nor on the order in which runs end. A run that is
finished is not run again, so an interrupted study goes on where it was by being started again.
"""

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import closing, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Self

from engram import checks
from engram.errors import EngramError, Interrupted
from engram.training.folder import RunFolder
from engram.training.run import Run

THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """How one run ended: with a result, or with an error."""

    run: Run
    result: dict[str, Any] | None = None
    reused: bool = False  # it was finished before
    error: str | None = None  # its type and the first line of its message
    traceback: str = ""

    @classmethod
    def failed(cls, run: Run, error: BaseException) -> Self:
        """Text only: an exception may be impossible to send from one process to another."""
        summary = "".join(traceback.format_exception_only(error)).splitlines()[0]
        return cls(run, error=summary, traceback="".join(traceback.format_exception(error)))


class StudyError(EngramError):
    """Runs that failed; all others of the study are done.

    The message names them and says what went wrong; the tracebacks are shown where the error is not caught.
    """

    def __init__(self, failures: Sequence[Outcome], total: int) -> None:
        self.failures = failures
        others = "; the others are done" if len(failures) < total else ""
        lines = [f"{failure.run.id}: {failure.error}" for failure in failures]
        super().__init__("\n  ".join([f"{len(failures)} of {total} runs failed{others}:", *lines]))
        for failure in failures:
            self.add_note(f"\n{failure.run.id}\n{failure.traceback.rstrip()}")


def run_all(
    runs: Iterable[Run], out: Path, *, jobs: int = 1, callback: Callable[[Outcome], object] | None = None
) -> dict[str, dict[str, Any]]:
    """Carry out every run that has no result yet, in `out/<run id>`; return all results by run id.

    With one job the runs take place in this process, one after the other. The callback gets each run's
    outcome as soon as it is known. Runs that fail are reported by a `StudyError` once all others are done.
    """
    checks.at_least("jobs", jobs, 1)
    wanted = {run.id: run for run in runs}
    ended: dict[str, Outcome] = {}
    with closing(_outcomes(list(wanted.values()), out, jobs)) as outcomes:
        for outcome in outcomes:
            ended[outcome.run.id] = outcome
            if callback is not None:
                callback(outcome)
    failures = [ended[run_id] for run_id in wanted if ended[run_id].error is not None]
    if failures:
        raise StudyError(failures, len(wanted))
    return {run_id: result for run_id in wanted if (result := ended[run_id].result) is not None}


def _outcomes(runs: list[Run], out: Path, jobs: int) -> Generator[Outcome]:
    waiting = []
    for run in runs:
        if RunFolder(out / run.id).result is None:
            waiting.append(run)
        else:
            yield _carry_out(run, out)
    waiting.sort(key=_effort, reverse=True)
    if jobs == 1:
        yield from (_carry_out(run, out) for run in waiting)
    elif waiting:
        yield from _in_processes(waiting, out, min(jobs, len(waiting)))


def _effort(run: Run) -> int:
    """A guess at how long a run takes: each step reads the whole memory."""
    return run.steps * int(getattr(run.settings, "capacity", 1))


def _say_nothing(text: str) -> None:
    """What a run tells on resuming is of no interest among many."""


def _carry_out(run: Run, out: Path) -> Outcome:
    try:
        folder = RunFolder(out / run.id)
        result = folder.result
        if result is not None:
            folder.claim(run)
            return Outcome(run, result, reused=True)
        agent = run.make_agent()
        return Outcome(run, folder.record(run, agent, tell=_say_nothing))
    except Interrupted:
        raise
    except Exception as error:
        return Outcome.failed(run, error)


def _carry_out_and_obey(run: Run, out: Path) -> Outcome:
    """In a worker: one that is told to stop saves its run and takes no other."""
    try:
        return _carry_out(run, out)
    except Interrupted as stopped:
        os._exit(128 + stopped.signal)


def _in_processes(runs: list[Run], out: Path, jobs: int) -> Iterator[Outcome]:
    """Outcomes as they come. However this is left, the workers end with it."""
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_end_with_parent) as pool:
        try:
            with _surroundings_of_workers():
                futures = {pool.submit(_carry_out_and_obey, run, out): run for run in runs}
            for future in as_completed(futures):
                error = future.exception()  # of the pool: a worker that was killed, a run that cannot be pickled
                if error is None:
                    yield future.result()
                else:
                    yield Outcome.failed(futures[future], error)
        except BaseException:
            for process in list(pool._processes.values()):  # from Python 3.14: pool.terminate_workers()
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextmanager
def _surroundings_of_workers() -> Iterator[None]:
    """What workers inherit: one thread each, and deafness to Ctrl-C, which is for the parent to answer."""
    before = {name: os.environ.get(name) for name in THREAD_SETTINGS}
    os.environ.update(dict.fromkeys(THREAD_SETTINGS, "1"))
    if sys.platform != "win32":
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if sys.platform != "win32":
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end_with_parent() -> None:
    """A worker whose parent was killed would otherwise wait for ever."""
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
