"""The beginning and the end of a run in a study, as executors report them."""

import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from engram.errors import EngramError, FolderInUseError, Interrupted, UnusableRunError
from engram.runs.folder import RunFolder
from engram.runs.run import Run


@dataclass(frozen=True)
class Begun:
    """A run was begun."""

    run: Run


@dataclass(frozen=True)
class Outcome:
    """How one run ended: with a result, or with an error."""

    run: Run
    result: dict[str, Any] | None = None
    reused: bool = False  # it was finished before
    error: str | None = None  # its type and the first line of its message
    traceback: str = ""
    again: bool = False  # it failed, and will be tried once more
    elsewhere: bool = False  # another process is carrying it out
    unusable: bool = False  # it failed because of what is in its folder

    @classmethod
    def failed(cls, run: Run, error: BaseException) -> Self:
        """The outcome of a run that raised an error, as text: some exceptions cannot be sent between processes."""
        summary = "".join(traceback.format_exception_only(error)).splitlines()[0]
        text = "".join(traceback.format_exception(error))
        elsewhere, unusable = isinstance(error, FolderInUseError), isinstance(error, UnusableRunError)
        return cls(run, error=summary, traceback=text, elsewhere=elsewhere, unusable=unusable)


News = Begun | Outcome


class Executor(Protocol):
    """Where runs take place."""

    def __call__(self, runs: Sequence[Run], out: Path) -> Iterator[News]:
        """Carry out each run once, in `out/<run id>`, beginning with the first; yield when each begins and ends."""


class StudyError(EngramError):
    """Runs that failed; all others of the study are done.

    The message names them and says what went wrong; the tracebacks are shown where the error is not caught.
    """

    def __init__(self, failures: Sequence[Outcome], total: int, hint: str = "") -> None:
        self.failures = failures
        others = "; the others are done" if len(failures) < total else ""
        lines = [f"{failure.run.id}: {failure.error}" for failure in failures]
        super().__init__("\n  ".join([f"{len(failures)} of {total} runs failed{others}:", *lines]) + hint)
        for failure in failures:
            self.add_note(f"\n{failure.run.id}\n{failure.traceback.rstrip()}")


def take_finished(run: Run, out: Path) -> Outcome | None:
    """The outcome of a run that has a result already; None for any other, also where its files cannot be read."""
    try:
        folder = RunFolder.inside(out, run.id)
        result = folder.result
        if result is None:
            return None
        folder.claim(run)
        return Outcome(run, result, reused=True)
    except EngramError:
        return None


def carry_out(run: Run, out: Path) -> Outcome:
    """Carry out one run in this process, if it is not finished."""
    try:
        finished = take_finished(run, out)
        if finished is not None:
            return finished
        folder = RunFolder.inside(out, run.id)
        return Outcome(run, folder.record(run, run.make_agent(), tell=_say_nothing))
    except Interrupted:
        raise
    except Exception as error:
        return Outcome.failed(run, error)


def in_this_process(runs: Sequence[Run], out: Path) -> Iterator[News]:
    """An executor that carries out one run after the other in this process."""
    for run in runs:
        yield Begun(run)
        yield carry_out(run, out)


def _say_nothing(text: str) -> None:
    """Used for messages about resuming, which are of no interest among many runs."""
