"""One run: one config and one seed, and a name for it."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from engram import checks
from engram.agents import Agent, find_agent
from engram.agents.config import AgentConfig, strategy_from_json
from engram.envs import EnvSource
from engram.envs.make import resolved_options
from engram.errors import RunFolderError
from engram.memory.strategies import get_strategy
from engram.training.evaluation import with_evaluations
from engram.training.events import Event

EVALUATION = (  # the fields of a run that say how it is evaluated
    "evaluation_interval_steps",
    "evaluation_episodes",
    "evaluation_epsilon",
    "evaluation_max_steps",
)


@dataclass(frozen=True)
class Run:
    """What is run. Everything that changes its result is here."""

    agent: type[Agent]
    env: str
    settings: AgentConfig
    steps: int = 15_000
    evaluation_interval_steps: int = 500
    evaluation_episodes: int = 10
    evaluation_epsilon: float = 0.0  # probability of a random action in evaluations
    evaluation_max_steps: int | None = None  # after which an evaluation's episode is cut off; none: never

    def __post_init__(self) -> None:
        for name in ("steps", "evaluation_interval_steps", "evaluation_episodes"):
            checks.at_least(name, getattr(self, name), 1)
        checks.within("evaluation_epsilon", self.evaluation_epsilon, 0, 1)
        if self.evaluation_max_steps is not None:
            checks.at_least("evaluation_max_steps", self.evaluation_max_steps, 1)

    def to_json(self) -> dict[str, Any]:
        """Every setting, defaults included, as plain data."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)} | {"agent": self.agent.name}
        options = resolved_options(self.env)
        described = {"id": self.id} | plain | {"settings": self.settings.to_json()}
        return described | ({"env_options": options} if options else {})

    @cached_property
    def id(self) -> str:
        """A name that a person can read, with a short hash over all that differs from the defaults."""
        defaults = type(self.settings)().to_json()
        changed = {name: value for name, value in self.settings.to_json().items() if value != defaults[name]}
        for field in fields(self):
            if field.name not in ("agent", "settings") and getattr(self, field.name) != field.default:
                changed[field.name] = getattr(self, field.name)
        changed["agent"] = self.agent.name
        digest = hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:6]
        parts = [self.env.partition("?")[0].split("/")[-1].rsplit("-v", 1)[0].lower(), self.agent.name.lower()]
        if hasattr(self.settings, "strategy"):
            parts += [get_strategy(self.settings.strategy).name.lower(), str(self.settings.capacity)]  # type: ignore[attr-defined]
        return "-".join([*parts, f"s{self.settings.seed}", digest])

    def make_agent(self) -> Agent:
        """A new agent, before its first step."""
        return self.agent(self.env, **self._settings())

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
                epsilon=self.evaluation_epsilon,
                max_steps=self.evaluation_max_steps,
            )
        finally:
            for env in envs:
                env.close()


def run_from_json(config: dict[str, Any]) -> Run:
    """The run that a config describes. A strategy of the user's own cannot be made from it."""
    if ":" in config["env"]:
        raise RunFolderError(
            f"the environment {config['env']!r} would import a module that a file names; "
            "go on with the whole command with which the run was started"
        )
    settings = dict(config["settings"])
    if "strategy" in settings:
        settings["strategy"] = strategy_from_json(settings["strategy"], None)
    agent = find_agent(config["agent"])
    plain = {field.name: config[field.name] for field in fields(Run)[3:] if field.name in config}
    return Run(agent, config["env"], agent.Config.from_settings(settings), **plain)
