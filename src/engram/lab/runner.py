"""Carries out many runs, each into a folder of its own.

What comes out depends neither on where the runs take place nor on the order in which they end. A run that is finished
is not run again, so an interrupted study goes on where it was by being started again.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from engram import checks
from engram.files.disk import remove, write_atomically
from engram.lab.outcome import Executor, News, Outcome, StudyError, carry_out, in_this_process
from engram.lab.workers import Workers
from engram.runs.folder import RunFolder
from engram.runs.run import Run


def run_all(
    runs: Iterable[Run],
    out: Path,
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    callback: Callable[[News], object] | None = None,
) -> dict[str, dict[str, Any]]:
    """Carry out every run that has no result yet, in `out/<run id>`; return all results by run id.

    With one job the runs take place in this process, one after the other, with more in as many worker processes,
    with an executor where that one carries them out. The callback is called when a run begins and when it ends. A run
    that fails is tried once more at the end. One that fails again leaves its traceback in `out/failures/<run id>.txt`,
    and all those are reported by a `StudyError` once the others are done.
    """
    checks.at_least("jobs", jobs, 1)
    if executor is None:
        executor = in_this_process if jobs == 1 else Workers(jobs)
    study = _Execution({run.id: run for run in runs}, out, callback or (lambda news: None))
    study.take_finished()
    study.carry_out(study.waiting, executor, last=False)
    study.carry_out(study.waiting, executor, last=True)
    failures = [study.ended[run_id] for run_id in study.wanted if study.ended[run_id].error is not None]
    if failures:
        hint = f"\ntracebacks: {out / 'failures'}; start the study again to try once more"
        raise StudyError(failures, len(study.wanted), hint)
    return {run_id: cast(dict[str, Any], study.ended[run_id].result) for run_id in study.wanted}


class _Execution:
    """The runs that are wanted, and the outcomes of those that have ended."""

    def __init__(self, wanted: dict[str, Run], out: Path, tell: Callable[[News], object]) -> None:
        self.wanted = wanted
        self.ended: dict[str, Outcome] = {}
        self._out = out
        self._tell = tell

    @property
    def waiting(self) -> list[Run]:
        """The runs that have not ended, the longest first, so that no long one is left over at the end."""
        left = [run for run_id, run in self.wanted.items() if run_id not in self.ended]
        return sorted(left, key=_effort, reverse=True)

    def take_finished(self) -> None:
        """Note the outcomes of the runs that already have a result."""
        for run in self.wanted.values():
            if RunFolder(self._out / run.id).result is not None:
                self._end(carry_out(run, self._out))

    def carry_out(self, runs: Sequence[Run], executor: Executor, *, last: bool) -> None:
        """Carry out these runs. One that fails counts as ended only if this is its last attempt."""
        if not runs:
            return
        with closing(cast(Any, executor(runs, self._out))) as news:
            for each in news:
                if not isinstance(each, Outcome):
                    self._tell(each)
                elif each.error is None or last:
                    self._end(each)
                else:
                    self._tell(replace(each, again=True))

    def _end(self, outcome: Outcome) -> None:
        file = self._out / "failures" / f"{outcome.run.id}.txt"
        if outcome.error is not None:
            write_atomically(file, outcome.traceback.encode())
        elif file.exists():
            remove(file)
        self.ended[outcome.run.id] = outcome
        self._tell(outcome)


def _effort(run: Run) -> float:
    """An estimate of how long a run takes: each step reads the whole memory."""
    return run.agent.step_cost * run.steps * (1 + int(getattr(run.settings, "capacity", 0)) / 10_000)
