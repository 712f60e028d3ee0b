"""A run's folder: where a run is carried out, written down, and gone on with.

`config.json`, `progress.jsonl`, `model.safetensors` and `result.json` hold only what the config determines, so
that two runs of one config are equal byte for byte. `result.json` is written last: its presence means done.
Times, costs, versions and the machine go to `meta.json`.
"""

import platform
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from engram.agents import Agent
from engram.errors import EngramError, RunFolderError, StorageError, UnusableRunError
from engram.files.disk import (
    inside,
    is_file,
    keep_aside,
    move_aside,
    read_file,
    read_json,
    remove,
    storage_errors,
    whole_path,
    write_atomically,
)
from engram.files.file_names import check_file_name
from engram.files.lock import FolderLock
from engram.runs.cadence import Cadence
from engram.runs.checkpoints import Checkpoints
from engram.runs.course import Course
from engram.runs.finished import check_agreement, is_result, result_of
from engram.runs.log import ProgressLog, events_of, read_log
from engram.runs.meter import Meter
from engram.runs.restoring import REMEDY, restore
from engram.runs.run import Run, run_from_json
from engram.runs.run_files import CONFIG, PRODUCTS, as_json, files_of_run, holds_others, tidy_up
from engram.runs.safe_points import SafePoints
from engram.runs.trace import FIRST, begin_trace, prepare_trace
from engram.runs.versions import machine, versions_of
from engram.training.events import Event
from engram.training.listening import CallbackLike, Listeners

CONFIG_REMEDY = (
    "put it back as it was, or begin the run again: the command that it was made with and --start-over (in Python "
    "start_over=True), which moves its files aside"
)
FINISHED_REMEDY = (
    "put back the file that does not fit; or move result.json elsewhere, to go on from {where}; or begin "
    "the run again with --start-over (in Python start_over=True), which moves its files aside"
)


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.given, self.path = path, whole_path(path)  # an environment may change to another folder
        path = self.path
        self.model_file = path / "model.safetensors"
        self.progress_file = path / "progress.jsonl"
        self._config = path / CONFIG
        self._result = path / "result.json"
        self._meta = path / "meta.json"

    @classmethod
    def inside(cls, study: Path, run_id: str) -> Self:
        """The folder of a run in a study's folder; a link or a file in its place is refused."""
        return cls(inside(study, check_file_name("a run's id", run_id)))

    @property
    def result(self) -> dict[str, Any] | None:
        """The content of `result.json`, or None while the run is not finished."""
        result = self._read_json(self._result)
        if result is not None and not is_result(result):
            raise UnusableRunError(f"cannot read {self._result}: it is not the result of a run; {REMEDY}")
        return result

    @property
    def config(self) -> dict[str, Any] | None:
        """The content of `config.json`, or None if there is none."""
        return self._read_json(self._config, CONFIG_REMEDY)

    @property
    def meta(self) -> dict[str, Any]:
        """The content of `meta.json`: when and where the run was finished; empty where that cannot be told."""
        with suppress(EngramError):
            return self._read_json(self._meta) or {}
        return {}

    def _read_json(self, path: Path, remedy: str = REMEDY) -> dict[str, Any] | None:
        """A mapping from a JSON file, or None if there is none."""
        try:
            content = read_json(path) if is_file(path) else None
        except StorageError as error:
            raise UnusableRunError(f"{error}; {remedy}") from error
        except ValueError as error:
            raise UnusableRunError(f"cannot read {path}: {error}; {remedy}") from error
        if content is None or isinstance(content, dict):
            return content
        raise UnusableRunError(f"cannot read {path}: it should be a mapping, got {content!r:.80}; {remedy}")

    def run(self, given: Mapping[str, Any] | None = None) -> Run:
        """The run that the folder holds; what is not Engram's own has to be given."""
        config = self.config
        if config is None:
            raise RunFolderError(f"{self.path} holds no run; train one: engram train mfec --out {self.path}")
        try:
            return run_from_json(config, given)
        except EngramError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnusableRunError(f"cannot read {self._config}: {error!r}; {CONFIG_REMEDY}") from error

    def foreign(self) -> dict[str, str]:
        """What the run was made with that is not Engram's own, by option, as its config notes it."""
        foreign = (self.config or {}).get("foreign")
        plain = isinstance(foreign, dict) and all(isinstance(each, str) for pair in foreign.items() for each in pair)
        return dict(foreign) if foreign and plain else {}

    def command(self, words: str, foreign: Mapping[str, str]) -> str:
        """A whole command about this folder, with the options that name what is not Engram's own."""
        options = "".join(f" --{name} {shlex.quote(spec)}" for name, spec in foreign.items())
        return f"{words} {shlex.quote(str(self.given))}{options}"

    def entries(self) -> Iterator[dict[str, Any]]:
        """The episodes and evaluations logged so far, in order of time."""
        return read_log(self.progress_file)

    def history(self) -> Iterator[Event]:
        """The same as the events that they were."""
        return events_of(self.entries()) if is_file(self.progress_file) else iter(())

    def evaluations(self) -> Iterator[dict[str, Any]]:
        """The evaluations logged so far, in order of time."""
        return (entry for entry in self.entries() if entry["event"] == "evaluation")

    def claim(self, run: Run) -> None:
        """Write `config.json`, unless it is there; raise RunFolderError if it is another run's."""
        if not self._is_of(run):
            write_atomically(self._config, as_json(run.to_json()).encode())

    def _is_of(self, run: Run, *, start_over: bool = False) -> bool:
        """Whether the folder holds this run already; raise RunFolderError if it holds anything else.

        A run whose config is missing or cannot be read is something else, unless it is to be started over.
        """
        with storage_errors("read", self.path):
            if self.path.exists() and not self.path.is_dir():
                raise RunFolderError(f"{self.path} is a file; choose a folder with --out")
            try:
                theirs = self.config
            except UnusableRunError:
                if not start_over:
                    raise
                theirs = None
            if theirs is not None:
                if _describes(theirs, run):
                    return True
                raise RunFolderError(
                    f"{self.path} already holds another run ({theirs.get('id', 'unknown')!s:.100}; this one is "
                    f"{run.id}); choose another folder with --out"
                )
        if holds_others(self.path):
            raise RunFolderError(f"{self.path} holds files that are not a run; choose another folder with --out")
        if any(path.name != FIRST for path in files_of_run(self.path)) and not start_over:
            raise UnusableRunError(
                f"cannot find {self._config}, though the run's other files are there; {CONFIG_REMEDY}"
            )
        return False

    def checkpoints(self, run: Run) -> Checkpoints:
        """The checkpoints of this run in the folder."""
        return Checkpoints(self.path, run.lineage, versions_of(run), formerly=run.id)

    def start_over(self, run: Run, tell: Callable[[str], object]) -> None:
        """Move everything of the run aside, so that it begins with its first step; nothing is deleted."""
        self._is_of(run, start_over=True)
        with FolderLock(self.path):
            self._set_all_aside(tell)

    def _set_all_aside(self, tell: Callable[[str], object]) -> None:
        if files := files_of_run(self.path):
            tell(f"what {self.path} held of the run is now in {move_aside(self.path, files)}")

    def record(
        self,
        run: Run,
        agent: Agent,
        callback: CallbackLike = None,
        *,
        cadence: Cadence | None = None,
        start_over: bool = False,
        trace: bool = False,
        tell: Callable[[str], object] = print,
        go_on: str | None = None,
    ) -> dict[str, Any] | None:
        """Run to the end, from the latest checkpoint if there is one; return the result.

        Every episode and evaluation is logged, and told to the callbacks, which are those of `Agent.learn`. Where one
        of them returns False there is a checkpoint and no result: None is returned, and the run can be gone on with. A
        signal to stop ends it with a checkpoint; see `SafePoints`. Files that cannot be used end it with an
        `UnusableRunError`; with `start_over` everything is moved aside instead, and the run begins with its first step.
        With `trace` the run keeps where its memory's entries come from; a run that was begun with it goes on with it.
        `go_on` is the command that is told when a signal ends the run.
        """
        started, clock = time.time(), time.monotonic()
        self._is_of(run, start_over=start_over)  # or nothing is written to it, not even a lock
        go_on = go_on or self.command("engram train --resume", run.foreign())
        with FolderLock(self.path) as lock, SafePoints(agent, go_on) as safe:
            if start_over:
                self._set_all_aside(tell)
            self._begin(run, agent, traced=trace)
            tidy_up(self.path)
            checkpoints = self.checkpoints(run)
            log = ProgressLog(self.progress_file, lock.check)
            if (result := self.finished(run)) is not None:
                checkpoints.clear()
                Listeners(agent, callback, 0).catch_up(self.history)
                return result
            found = restore(agent, checkpoints, log, (self.model_file, self._meta), tell)
            meter = Meter(0.0 if found is None else found.cpu_seconds)
            tracing = begin_trace(self.path, agent, run.steps, found, wanted=trace)
            due = (cadence or Cadence.of(agent)).clock(agent.steps)
            with log:
                log.open(None if found is None else found.log)
                listeners = Listeners(agent, callback, run.steps - agent.steps)
                listeners.catch_up(self.history)
                course = Course(run, agent, checkpoints, log, meter, tracing, listeners, safe, due)
                if not course.take_steps(None if found is None else agent.steps):
                    return None
                log.position()
            with safe.finishing():
                result = result_of(agent, log.scores)
                lock.check()
                if tracing is not None:
                    tracing.finish()
                self._save_model(agent)
                meta = _metadata(started, time.monotonic() - clock) | meter.cost(agent)
                write_atomically(self._meta, as_json(meta).encode())
                write_atomically(self._result, as_json(result).encode())
                checkpoints.clear()
        return result

    def _begin(self, run: Run, agent: Agent, *, traced: bool) -> None:
        """Claim the folder. The trace of a new run is begun first, so that no process that is killed forgets it."""
        if not self._is_of(run):
            prepare_trace(self.path, agent, run.steps, wanted=traced)
        self.claim(run)

    def _save_model(self, agent: Agent) -> None:
        """Write the model; what was in its place is kept aside, unless it was the same."""
        aside = keep_aside(self.model_file) if is_file(self.model_file) else None
        agent.save(self.model_file)
        if aside is not None and read_file(aside / self.model_file.name) == read_file(self.model_file):
            remove(aside / self.model_file.name)
            aside.rmdir()

    def finished(self, run: Run) -> dict[str, Any] | None:
        """The result of this run, or None while it is not finished; UnusableRunError if its files do not agree."""
        if (result := self.result) is None:
            return None
        try:
            check_agreement(run, result, read_file(self.progress_file), self.path)
        except EngramError as error:
            left = self.checkpoints(run).paths()
            remedy = FINISHED_REMEDY.format(where="the latest checkpoint" if left else "the first step")
            raise UnusableRunError(
                f"{self._result} says that the run is finished, but {error}; nothing was changed; {remedy}"
            ) from error
        return result

    def finished_files(self, run: Run) -> dict[str, bytes]:
        """The files of this run, which is finished; raise RunFolderError unless they agree with each other."""
        result = self.result
        if result is None or not self._is_of(run):
            raise RunFolderError(f"{self.path} holds no finished run of id {run.id}")
        names = [name for name in PRODUCTS if name != self._meta.name or is_file(self._meta)]
        files = {name: read_file(self.path / name) for name in names}
        check_agreement(run, result, files[self.progress_file.name], self.path)
        return files

    def receive(self, run: Run, files: Mapping[str, bytes]) -> dict[str, Any] | None:
        """Write the files of a run that was finished elsewhere, `result.json` last; return the result."""
        self._is_of(run)
        with FolderLock(self.path):
            self.claim(run)
            tidy_up(self.path)
            if self.finished(run) is None:
                log = self.progress_file
                if is_file(log) and not files[log.name].startswith(read_file(log)):
                    keep_aside(log)
                for name in PRODUCTS[1:]:
                    if name in files:
                        write_atomically(self.path / name, files[name])
            result = self.finished(run)
            self.checkpoints(run).clear()  # of the same run, when it was to take place here
        return result


def _describes(theirs: Mapping[str, Any], run: Run) -> bool:
    """Whether a config describes this run; it may lack settings that were added later and are at their defaults."""
    ours, theirs = run.to_json(), dict(theirs)
    try:
        same_settings = theirs.pop("settings").items() <= ours.pop("settings").items()
        theirs.pop("foreign", None)  # where a class lies does not matter, only its source
        return bool(same_settings and theirs["id"] == run.id and theirs.items() <= ours.items())
    except (KeyError, TypeError, AttributeError):
        return False


def _metadata(started: float, seconds: float) -> dict[str, Any]:
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(seconds, 3),
        "host": platform.node(),
        **machine(),
    }
