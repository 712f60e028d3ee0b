"""One run: one agent with one config and one seed in one environment, and a name for it."""

import hashlib
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

from engram import checks
from engram.agents import BUILT_IN, Agent, find_agent
from engram.agents.common.config import AgentConfig
from engram.envs import EnvSource
from engram.envs.faults import close
from engram.envs.make import resolved_options
from engram.envs.names import imports_nothing, short_name
from engram.errors import InvalidInputError, RunFolderError
from engram.files.file_names import as_file_name
from engram.memory.strategies import get_strategy
from engram.sources import is_ours, source_digest
from engram.training.evaluation import MOST_EPISODES, SIDE_BY_SIDE, with_evaluations
from engram.training.events import Event

NAME_BYTES = 40  # of a name in a run's id, which is the name of a folder
EVALUATION = (  # the fields of a run that say how it is evaluated
    "evaluation_interval_steps",
    "evaluation_episodes",
    "evaluation_epsilon",
    "evaluation_max_steps",
)


@dataclass(frozen=True)
class Run:
    """One run: the agent, the environment and every setting that changes the result."""

    agent: type[Agent]
    env: str
    settings: AgentConfig
    steps: int = 15_000
    evaluation_interval_steps: int = 500
    evaluation_episodes: int = 10
    evaluation_epsilon: float = 0.0  # probability of a random action in evaluations
    evaluation_max_steps: int | None = None  # after which an evaluation's episode is cut off; none: never

    def __post_init__(self) -> None:
        check_numbers(vars(self))

    def to_json(self) -> dict[str, Any]:
        """Every setting, defaults included, as plain data."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)} | {"agent": self.agent.name}
        described = {"id": self.id} | plain | {"settings": self.settings.to_json()} | self.agent_source()
        options, foreign = resolved_options(self.env), self.foreign()
        described |= {"env_options": options} if options else {}
        return described | ({"foreign": foreign} if foreign else {})

    def foreign(self) -> dict[str, str]:
        """What is not Engram's own, by option, as it is named on a command line."""
        own = {} if is_ours(self.agent.__module__) else {"agent": f"{self.agent.__module__}:{self.agent.__qualname__}"}
        env = {} if imports_nothing(self.env) else {"env": self.env}
        return own | env | self.settings.foreign_parts()

    def agent_source(self) -> dict[str, str]:
        """A digest of the source of an agent of the user's own."""
        return {} if is_ours(self.agent.__module__) else {"agent_source": source_digest(self.agent)}

    @cached_property
    def id(self) -> str:
        """A name that a person can read, with a short hash over all that differs from the defaults."""
        defaults = type(self.settings)().to_json()
        changed = {name: value for name, value in self.settings.to_json().items() if value != defaults[name]}
        for field in fields(self):
            if field.name not in ("agent", "settings") and getattr(self, field.name) != field.default:
                changed[field.name] = getattr(self, field.name)
        changed |= {"agent": self.agent.name} | self.agent_source()
        digest = hashlib.sha256(json.dumps(changed, sort_keys=True).encode()).hexdigest()[:6]
        names = [short_name(self.env), self.agent.name]
        strategy, capacity = (getattr(self.settings, name, None) for name in ("strategy", "capacity"))
        names += [] if strategy is None else [get_strategy(strategy).name]
        parts = [as_file_name(name.lower(), NAME_BYTES) for name in names]
        parts += [] if capacity is None else [str(capacity)]
        return "-".join([*parts, f"s{self.settings.seed}", digest])

    @property
    def lineage(self) -> str:
        """The id that the run would have at the usual length: the same for a run and one that goes on from its end."""
        return replace(self, steps=type(self).steps).id

    def make_agent(self) -> Agent:
        """A new agent, before its first step."""
        return self.agent(
            self.env, **{field.name: getattr(self.settings, field.name) for field in fields(self.settings)}
        )

    def events(
        self,
        agent: Agent,
        *,
        evaluated: int | None = None,
        evaluating: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Generator[Event]:
        """Train the agent from where it is to the end, with an evaluation at every interval.

        `evaluated` is the step of the latest evaluation, if that is known: an agent that was saved before the
        evaluation of its last step is evaluated first. Evaluations take place within `evaluating()`.
        """
        due = agent.steps > 0 and agent.steps % self.evaluation_interval_steps == 0
        source = EnvSource(self.env)
        envs = source.make_several(min(self.evaluation_episodes, SIDE_BY_SIDE))
        try:
            yield from with_evaluations(
                agent.events(self.steps - agent.steps),
                agent,
                envs,
                every=self.evaluation_interval_steps,
                episodes=self.evaluation_episodes,
                epsilon=self.evaluation_epsilon,
                max_steps=self.evaluation_max_steps,
                first_at=agent.steps if due and evaluated is not None and evaluated < agent.steps else None,
                evaluating=evaluating,
            )
        finally:
            for env in envs:
                close(env)


def check_numbers(run: Mapping[str, Any]) -> None:
    """Raise InvalidInputError unless the numbers of a run, by field, are such as they can be."""
    for name in ("steps", "evaluation_interval_steps"):
        checks.at_least(name, run[name], 1)
    checks.at_least("evaluation_episodes", run["evaluation_episodes"], 1, MOST_EPISODES)
    checks.within("evaluation_epsilon", run["evaluation_epsilon"], 0, 1)
    if run["evaluation_max_steps"] is not None:
        checks.at_least("evaluation_max_steps", run["evaluation_max_steps"], 1)


def run_from_json(config: dict[str, Any], given: Mapping[str, Any] | None = None) -> Run:
    """The run that a config describes. What is not Engram's own has to be given: agent, env, and parts by setting."""
    chosen = {name: value for name, value in (given or {}).items() if value is not None}
    env, name = config["env"], config["agent"]
    if "env" in chosen and chosen["env"] != env:
        raise InvalidInputError(f"the run was made in {env!r}, not in {chosen['env']!r}")
    if "env" not in chosen and not imports_nothing(env):
        raise RunFolderError(f"the environment {env!r} would import a module that a file names; give it: --env {env}")
    if "agent" in chosen:
        agent = find_agent(chosen["agent"])
    elif name in BUILT_IN and "agent_source" not in config:
        agent = find_agent(name)
    else:
        raise InvalidInputError(f"the agent {name!r} is not part of Engram; give it: --agent module:{name}")
    if agent.name != name or (not is_ours(agent.__module__) and source_digest(agent) != config.get("agent_source")):
        raise InvalidInputError(f"the run was made with the agent {name!r} and another source than {agent.name!r} has")
    parts = {name: part for name, part in chosen.items() if name not in ("agent", "env")}
    settings = agent.Config.from_json(config["settings"], parts)
    plain = {field.name: config[field.name] for field in fields(Run)[3:] if field.name in config}
    return Run(agent, env, settings, **plain)
