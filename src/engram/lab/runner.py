"""Carries out many runs, each into a folder of its own.

What comes out depends neither on where the runs take place nor on the order in which they end. A run that is finished
is not run again, so an interrupted study goes on where it was by being started again. Nor is one that is only in the
folder's table of evaluations any more.
"""

import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from engram import checks
from engram.errors import EngramError
from engram.files.disk import inside, is_file, remove, write_atomically
from engram.files.lock import is_in_use
from engram.lab.outcome import Executor, News, Outcome, StudyError, in_this_process, take_finished
from engram.lab.study_folder import StudyFolder
from engram.lab.workers import Workers
from engram.runs.folder import RunFolder
from engram.runs.run import Run

POLL_SECONDS = 0.5  # between two looks at a run that another process carries out


def run_all(
    runs: Iterable[Run],
    out: Path,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    callback: Callable[[News], object] | None = None,
    start_over: bool = False,
) -> dict[str, dict[str, Any]]:
    """Carry out every run that has no result yet, in `out/<run id>`; return all results by run id.

    With one job the runs take place in this process, one after the other, with more in as many worker processes,
    with an executor where that one carries them out. The callback is called when a run begins and when it ends. A run
    that fails is tried once more at the end. One that fails again leaves its traceback in `out/failures/<run id>.txt`,
    and all those are reported by a `StudyError` once the others are done.

    A run that another process is carrying out is waited for. With `start_over`, a run whose files cannot be used begins
    with its first step, and its files are moved aside.
    """
    checks.at_least("jobs", jobs, 1)
    if executor is None:
        executor = in_this_process if jobs == 1 else Workers(jobs)
    study = _Execution({run.id: run for run in runs}, out, callback or (lambda news: None), start_over=start_over)
    study.take_finished()
    while study.waiting:
        study.wait_for_others()
        study.carry_out(executor)
    failures = [study.ended[run_id] for run_id in study.wanted if study.ended[run_id].error is not None]
    if failures:
        hint = f"\ntracebacks: {out / 'failures'}; start the study again to try once more"
        raise StudyError(failures, len(study.wanted), hint)
    return {run_id: cast(dict[str, Any], study.ended[run_id].result) for run_id in study.wanted}


class _Execution:
    """The runs that are wanted, and the outcomes of those that have ended."""

    def __init__(self, wanted: dict[str, Run], out: Path, tell: Callable[[News], object], *, start_over: bool) -> None:
        self.wanted = wanted
        self.ended: dict[str, Outcome] = {}
        self._out, self._start_over = out, start_over
        self._tell = tell
        self._failed: set[str] = set()  # once
        self._elsewhere: set[str] = set()  # when they were tried last

    @property
    def waiting(self) -> list[Run]:
        """The runs that have not ended, the longest first, so that no long one is left over at the end."""
        left = [run for run_id, run in self.wanted.items() if run_id not in self.ended]
        return sorted(left, key=_effort, reverse=True)

    def take_finished(self) -> None:
        """Note the outcomes of the runs that already have a result."""
        in_table = StudyFolder(self._out).results_in_table()
        for run in self.wanted.values():
            outcome = take_finished(run, self._out)
            if outcome is None and run.id in in_table:
                outcome = Outcome(run, in_table[run.id], reused=True)
            if outcome is not None:
                self._end(outcome)

    def wait_for_others(self) -> None:
        """While other processes carry out all runs that are left, wait for one of them."""
        while {run.id for run in self.waiting} <= self._elsewhere:
            time.sleep(POLL_SECONDS)
            self._elsewhere = {run_id for run_id in self._elsewhere if is_in_use(self._out / run_id)}

    def carry_out(self, executor: Executor) -> None:
        """Carry out the runs that are left. One that fails counts as ended if it has failed before."""
        with closing(cast(Any, executor(self.waiting, self._out))) as news:
            for each in news:
                if not isinstance(each, Outcome):
                    self._tell(each)
                elif each.elsewhere:
                    self._note_elsewhere(each)
                elif each.error is None or each.run.id in self._failed:
                    self._end(each)
                else:
                    self._try_again(each)

    def _note_elsewhere(self, outcome: Outcome) -> None:
        if outcome.run.id not in self._elsewhere:
            self._elsewhere.add(outcome.run.id)
            self._tell(outcome)

    def _try_again(self, outcome: Outcome) -> None:
        self._failed.add(outcome.run.id)
        if outcome.unusable and self._start_over:
            try:
                RunFolder.inside(self._out, outcome.run.id).start_over(outcome.run, lambda text: None)
            except EngramError as error:
                self._end(Outcome.failed(outcome.run, error))
                return
        self._tell(replace(outcome, again=True))

    def _end(self, outcome: Outcome) -> None:
        file = inside(self._out, "failures") / f"{outcome.run.id}.txt"
        if outcome.error is None and is_file(file):
            remove(file)
        elif outcome.error is not None:
            write_atomically(file, outcome.traceback.encode(errors="replace"))
        self.ended[outcome.run.id] = outcome
        self._tell(outcome)


def _effort(run: Run) -> float:
    """An estimate of how long a run takes: each step reads the whole memory."""
    return run.agent.step_cost * run.steps * (1 + int(getattr(run.settings, "capacity", 0)) / 10_000)
