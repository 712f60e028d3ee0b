"""One run: one config and one seed, trained, evaluated and written down in a folder of its own.

`config.json`, `progress.jsonl`, `model.safetensors` and `result.json` hold only what the config determines, so
that two runs of one config are equal byte for byte. `result.json` is written last: its presence means done.
Times, versions and the machine go to `meta.json`.
"""

import hashlib
import json
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

from engram import checks
from engram.agents import NAMES, Agent, get_agent
from engram.agents.config import AgentConfig
from engram.envs import EnvSource
from engram.errors import RunFolderError
from engram.memory.strategies import get_strategy
from engram.training.evaluation import with_evaluations
from engram.training.events import EpisodeEnd, Evaluation, Event
from engram.training.files import write_atomically

LAST_EVALUATIONS = 10  # a run's score is the mean of this many, as in the paper


@dataclass(frozen=True)
class Run:
    """What is run. Everything that changes its result is here."""

    agent: str
    env: str
    settings: AgentConfig
    steps: int = 15_000
    evaluation_interval_steps: int = 500
    evaluation_episodes: int = 10

    def __post_init__(self) -> None:
        checks.one_of("agent", self.agent, NAMES)
        for name in ("steps", "evaluation_interval_steps", "evaluation_episodes"):
            checks.at_least(name, getattr(self, name), 1)

    def to_json(self) -> dict[str, Any]:
        """Every setting, defaults included, as plain data."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"id": self.id} | plain | {"settings": self.settings.to_json()}

    @cached_property
    def id(self) -> str:
        """A name that a person can read, with a short hash over all that differs from the defaults."""
        defaults = type(self.settings)().to_json()
        changed = {name: value for name, value in self.settings.to_json().items() if value != defaults[name]}
        for field in fields(self):
            if field.name != "settings" and getattr(self, field.name) != field.default:
                changed[field.name] = getattr(self, field.name)
        digest = hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:6]
        parts = [self.env.split("/")[-1].rsplit("-v", 1)[0].lower(), self.agent]
        if hasattr(self.settings, "strategy"):
            parts += [get_strategy(self.settings.strategy).name.lower(), str(self.settings.capacity)]  # type: ignore[attr-defined]
        return "-".join([*parts, f"s{self.settings.seed}", digest])

    def make_agent(self) -> Agent:
        """A new agent, before its first step."""
        return get_agent(self.agent)(self.env, **self._settings())

    def _settings(self) -> dict[str, Any]:
        return {field.name: getattr(self.settings, field.name) for field in fields(self.settings)}

    def events(self, agent: Agent) -> Iterator[Event]:
        """Train the agent from where it is to the end, with an evaluation at every interval."""
        source = EnvSource(self.env)
        envs = [source.make() for _ in range(self.evaluation_episodes)]
        try:
            yield from with_evaluations(
                agent.events(self.steps - agent.steps),
                agent,
                envs,
                every=self.evaluation_interval_steps,
                episodes=self.evaluation_episodes,
            )
        finally:
            for env in envs:
                env.close()


class RunFolder:
    """A run's files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model_file = path / "model.safetensors"
        self._config = path / "config.json"
        self._progress = path / "progress.jsonl"
        self._result = path / "result.json"
        self._meta = path / "meta.json"

    @property
    def result(self) -> dict[str, Any] | None:
        """What came out, or None while the run is not finished."""
        return dict(json.loads(self._result.read_text())) if self._result.exists() else None

    def evaluations(self) -> Iterator[dict[str, Any]]:
        """The evaluations logged so far, in order of time."""
        for line in self._progress.read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "evaluation":
                yield entry

    def claim(self, run: Run) -> None:
        """Make the folder this run's, unless it is another's."""
        config = _as_json(run.to_json())
        if self._config.exists():
            theirs = self._config.read_text()
            if theirs == config:
                return
            raise RunFolderError(
                f"{self.path} already holds another run ({json.loads(theirs).get('id', 'unknown')}; this one is "
                f"{run.id}); choose another folder with --out"
            )
        if self.path.is_dir() and any(path.suffix != ".part" for path in self.path.iterdir()):
            raise RunFolderError(f"{self.path} holds files that are not a run; choose another folder with --out")
        if self.path.exists() and not self.path.is_dir():
            raise RunFolderError(f"{self.path} is a file; choose a folder with --out")
        write_atomically(self._config, config.encode())

    def record(self, run: Run, agent: Agent, callbacks: tuple[Callable[[Event], object], ...] = ()) -> dict[str, Any]:
        """Run to the end, logging every episode and evaluation; return the result."""
        started = time.time()
        scores: list[float] = []
        with self._progress.open("w", encoding="utf-8") as log:
            for event in run.events(agent):
                _log(log, event)
                if isinstance(event, Evaluation):
                    scores.append(event.mean)
                for callback in callbacks:
                    callback(event)
        last = scores[-LAST_EVALUATIONS:]
        result = {
            "score": sum(last) / len(last) if last else None,  # mean of the last ten evaluations
            "evaluations": len(scores),
            "steps": agent.steps,
            "episodes": agent.loop.episode,
        }
        if hasattr(agent, "memory"):
            result["memory_size"] = agent.memory.size.tolist()
        agent.save(self.model_file)
        write_atomically(self._meta, _as_json(_metadata(started)).encode())
        write_atomically(self._result, _as_json(result).encode())
        return result


def _log(log: TextIO, event: Event) -> None:
    entry: dict[str, Any]
    if isinstance(event, EpisodeEnd):
        entry = {"event": "episode", "step": event.step, "return": event.total, "length": event.length}
    elif isinstance(event, Evaluation):
        entry = {
            "event": "evaluation",
            "step": event.step,
            "returns": event.returns,
            "lengths": event.lengths,
        }
    else:
        return
    log.write(json.dumps(entry) + "\n")


def _metadata(started: float) -> dict[str, Any]:
    packages = ("engram-rl", "gymnasium", "numba", "numpy", "safetensors")
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        "seconds": round(time.time() - started, 3),
        "host": platform.node(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }


def _as_json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=2) + "\n"
