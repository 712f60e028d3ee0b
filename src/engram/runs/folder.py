"""A run's folder: where a run is carried out, written down, and gone on with.

`config.json`, `progress.jsonl`, `model.safetensors` and `result.json` hold only what the config determines, so
that two runs of one config are equal byte for byte. `result.json` is written last: its presence means done.
Times, versions and the machine go to `meta.json`.
"""

import json
import platform
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from engram.agents import Agent
from engram.agents.common.model_file import MALFORMED
from engram.errors import EngramError, Interrupted, RunFolderError
from engram.files.disk import list_files, remove, storage_errors, write_atomically
from engram.files.lock import LOCK_FILES, FolderLock
from engram.runs.checkpoints import Checkpoints
from engram.runs.log import ProgressLog
from engram.runs.run import Run, run_from_json
from engram.runs.stopping import StopRequest
from engram.training.events import Event, Step, mean_of
from engram.version import __version__

LAST_EVALUATIONS = 10  # a run's score is the mean of this many, as in the paper


@dataclass(frozen=True)
class Cadence:
    """How often a checkpoint is written: after so many seconds or, if given, after every so many steps."""

    seconds: float = 60.0
    steps: int | None = None

    @classmethod
    def of(cls, agent: Agent) -> Self:
        """Every 60 seconds; every 300 for an agent with a replay of images, which takes longer to write."""
        frames = agent.has_replay and len(agent.spaces.observation_shape) == 3
        return cls(300.0 if frames else 60.0)

    def clock(self, step: int) -> Callable[[int], bool]:
        """A function that says whether a checkpoint is due at a step, by a clock that is never set."""
        last_time, last_step = time.monotonic(), step

        def due(step: int) -> bool:
            nonlocal last_time, last_step
            now = time.monotonic()
            is_due = step - last_step >= self.steps if self.steps is not None else now - last_time >= self.seconds
            if is_due:
                last_time, last_step = now, step
            return is_due

        return due


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model_file = path / "model.safetensors"
        self._config = path / "config.json"
        self._progress = path / "progress.jsonl"
        self._result = path / "result.json"
        self._meta = path / "meta.json"

    @property
    def result(self) -> dict[str, Any] | None:
        """The content of `result.json`, or None while the run is not finished."""
        try:
            with storage_errors("read", self._result):
                return dict(json.loads(self._result.read_text())) if self._result.exists() else None
        except (ValueError, TypeError) as error:
            raise RunFolderError(f"{self._result} cannot be read: {error!r}; delete it to run again") from error

    @property
    def config(self) -> dict[str, Any] | None:
        """The content of `config.json`, or None if there is none."""
        try:
            with storage_errors("read", self._config):
                return dict(json.loads(self._config.read_text())) if self._config.exists() else None
        except (ValueError, TypeError) as error:
            raise RunFolderError(f"{self._config} cannot be read: {error!r}") from error

    def run(self, given: Mapping[str, Any] | None = None) -> Run:
        """The run that the folder holds; what is not Engram's own has to be given."""
        config = self.config
        if config is None:
            raise RunFolderError(f"{self.path} holds no run; train one: engram train mfec --out {self.path}")
        try:
            return run_from_json(config, given)
        except EngramError:
            raise
        except (ValueError, KeyError, TypeError) as error:
            raise RunFolderError(f"{self._config} cannot be read: {error!r}") from error

    def foreign(self) -> dict[str, str]:
        """What the run was made with that is not Engram's own, by option, as its config notes it."""
        foreign = (self.config or {}).get("foreign")
        plain = isinstance(foreign, dict) and all(isinstance(each, str) for pair in foreign.items() for each in pair)
        return dict(foreign) if foreign and plain else {}

    def command(self, words: str, foreign: Mapping[str, str]) -> str:
        """A whole command about this folder, with the options that name what is not Engram's own."""
        options = "".join(f" --{name} {shlex.quote(spec)}" for name, spec in foreign.items())
        return f"{words} {shlex.quote(str(self.path))}{options}"

    def evaluations(self) -> Iterator[dict[str, Any]]:
        """The evaluations logged so far, in order of time."""
        for line in self._progress.read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "evaluation":
                yield entry

    def claim(self, run: Run) -> None:
        """Write `config.json`, unless it is there; raise RunFolderError if it is another run's."""
        if not self._is_of(run):
            write_atomically(self._config, as_json(run.to_json()).encode())

    def _is_of(self, run: Run) -> bool:
        """Whether the folder holds this run already; raise RunFolderError if it holds anything else."""
        with storage_errors("read", self.path):
            if self._config.exists():
                theirs = self._config.read_text()
                if _describes(theirs, run):
                    return True
                raise RunFolderError(
                    f"{self.path} already holds another run ({_id_in(theirs)}; this one is {run.id}); "
                    "choose another folder with --out"
                )
            if self.path.exists() and not self.path.is_dir():
                raise RunFolderError(f"{self.path} is a file; choose a folder with --out")
            if self.path.is_dir() and any(
                file.suffix != ".part" and file.name not in LOCK_FILES for file in self.path.iterdir()
            ):
                raise RunFolderError(f"{self.path} holds files that are not a run; choose another folder with --out")
        return False

    def record(
        self,
        run: Run,
        agent: Agent,
        callbacks: tuple[Callable[[Event], object], ...] = (),
        *,
        cadence: Cadence | None = None,
        tell: Callable[[str], object] = print,
    ) -> dict[str, Any]:
        """Run to the end, from the latest checkpoint if there is one; return the result.

        Every episode and evaluation is logged. A signal to stop ends it at the next step, with a checkpoint.
        """
        started, clock = time.time(), time.monotonic()
        self._is_of(run)  # or nothing is written to it, not even a lock
        with FolderLock(self.path), StopRequest() as stop:
            self.claim(run)
            for left in list_files(self.path, ".*.part"):  # by a process that was killed
                remove(left)
            checkpoints, log = Checkpoints(self.path, run.id), ProgressLog(self._progress)
            if (result := self.result) is not None:
                checkpoints.clear()
                return result
            position = self._restore(agent, checkpoints, log, tell)
            due = (cadence or Cadence.of(agent)).clock(agent.steps)
            with log:
                log.open(position)
                for event in run.events(agent):
                    log(event)
                    for callback in callbacks:
                        callback(event)
                    if isinstance(event, Step) and (stop.signal is not None or due(event.step)):
                        checkpoints.save(event.step, agent.state_in_pieces(), log.position())
                        if stop.signal is not None and event.step < run.steps:
                            raise Interrupted(
                                f"stopped at step {event.step:,}, with everything saved; "
                                f"go on with: {self.command('engram train --resume', run.foreign())}",
                                stop.signal,
                            )
                log.position()
            result = _result(agent, log.scores)
            agent.save(self.model_file)
            write_atomically(self._meta, as_json(_metadata(started, time.monotonic() - clock)).encode())
            write_atomically(self._result, as_json(result).encode())
            checkpoints.clear()
        return result

    def _restore(
        self, agent: Agent, checkpoints: Checkpoints, log: ProgressLog, tell: Callable[[str], object]
    ) -> dict[str, Any] | None:
        """Load the latest usable checkpoint into the agent; return the log's position in it."""
        if not checkpoints:
            return None
        beginning = deepcopy(agent.state_dict())  # a state that does not fit may be half loaded before that shows
        for checkpoint in checkpoints.load(tell):
            if not log.holds(checkpoint.log):
                tell(f"{self._progress} is not what it was at step {checkpoint.step:,}; trying the checkpoint before")
                continue
            try:
                agent.load_state_dict(checkpoint.state)
            except (EngramError, *MALFORMED) as error:
                tell(f"the checkpoint of step {checkpoint.step:,} cannot be used ({error}); trying the one before")
                continue
            tell(f"going on from step {checkpoint.step:,}")
            return checkpoint.log
        agent.load_state_dict(beginning)
        tell("no checkpoint can be used; starting over from the first step")
        return None


def _result(agent: Agent, scores: list[float]) -> dict[str, Any]:
    last = scores[-LAST_EVALUATIONS:]
    result: dict[str, Any] = {
        "score": mean_of(last) if last else None,  # mean of the last ten evaluations
        "evaluations": len(scores),
        "steps": agent.steps,
        "episodes": agent.loop.episode,
    }
    if agent.has_memory:
        result["memory_size"] = agent.memory.size.tolist()  # type: ignore[attr-defined]
    return result


def _describes(config: str, run: Run) -> bool:
    """Whether a config describes this run; it may lack settings that were added later and are at their defaults."""
    ours = run.to_json()
    try:
        theirs = json.loads(config)
        same_settings = theirs.pop("settings").items() <= ours.pop("settings").items()
        theirs.pop("foreign", None)  # where a class lies does not matter, only its source
        return bool(same_settings and theirs["id"] == run.id and theirs.items() <= ours.items())
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _id_in(config: str) -> str:
    try:
        return str(json.loads(config)["id"])
    except (ValueError, KeyError, TypeError):
        return "unknown"


def _metadata(started: float, seconds: float) -> dict[str, Any]:
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(seconds, 3),
        "host": platform.node(),
        **machine(),
    }


def machine() -> dict[str, Any]:
    """The system, and the versions of what changes results."""
    packages = ["gymnasium", "numba", "numpy", "safetensors"]
    packages += [name for name in ("torch", "ale_py") if name in sys.modules]
    versions = {"engram-rl": __version__} | {package: version(package) for package in packages}
    return {"platform": platform.platform(), "python": platform.python_version(), "versions": versions}


def as_json(data: dict[str, Any]) -> str:
    """Data as indented JSON, with a newline at the end."""
    return json.dumps(data, indent=2) + "\n"
