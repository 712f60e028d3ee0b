"""A study as data: grids of runs, what its report shows beside them, and how a part of them is chosen."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Self

from engram import checks
from engram.agents import Agent, find_agent
from engram.envs.names import short_name
from engram.errors import InvalidInputError
from engram.lab.reference import Reference
from engram.memory.strategies import Strategy, get_strategy
from engram.runs.run import Run

QUICK_SEEDS = 2
MOST_RUNS = 100_000  # of a study, which has a line for each in a file that is read as a whole


@dataclass(frozen=True)
class Grid:
    """One agent in one environment: every combination of its strategies, memory sizes and seeds."""

    agent: str | type[Agent]  # a name, `module:Class`, or the class
    env: str
    steps: int
    seeds: Sequence[int]
    strategies: Sequence[str | Strategy] = ()  # none: the agent's default; an agent without a memory has none
    sizes: Sequence[int] = ()  # capacities, in entries per action; none: the agent's default
    settings: Mapping[str, Any] = field(default_factory=dict)  # that are not at the agent's defaults
    evaluation_interval_steps: int = 500
    evaluation_episodes: int = 10
    evaluation_epsilon: float = 0.0
    evaluation_max_steps: int | None = None
    variant: str = ""  # what differs from the rest of the study
    suits: Callable[[Strategy], bool] | None = None  # leave out strategies that the settings do not suit
    labels: tuple[str, ...] = ()  # by which a part of a study is chosen

    def __post_init__(self) -> None:
        for name, example in (("seeds", "[0, 1]"), ("strategies", '["lru", "dkm"]'), ("sizes", "[50, 500]")):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise InvalidInputError(f"{name} of a grid must be a list, such as {example}, got {value!r:.100}")
        if not isinstance(self.settings, Mapping):
            raise InvalidInputError(
                f'settings of a grid must be a dict, such as {{"neighbours": 5}}, got {self.settings!r:.100}'
            )

    @property
    def agent_name(self) -> str:
        """The agent's name. A built-in agent is not imported for it, as it may need an extra."""
        return agent_name(self.agent)

    def runs(self) -> list[Run]:
        """Every run of the grid."""
        agent = find_agent(self.agent)
        return [self._run(agent, {**cell, "seed": seed}) for cell in self._cells() for seed in self.seeds]

    def with_seeds(self, text: str) -> Self:
        """The grid with other seeds, as `parse_seeds` reads them; how many are counted from its own first."""
        return replace(self, seeds=parse_seeds(text, first=min(self.seeds, default=0)))

    def count(self) -> int:
        """How many runs the grid has."""
        return len(self._cells()) * len(self.seeds)

    def _cells(self) -> list[dict[str, Any]]:
        """The settings in which the cells of the grid differ; an agent without a memory has only one."""
        if not find_agent(self.agent).has_memory:
            return [{}]
        chosen = [each for each in self.strategies if self.suits is None or self.suits(get_strategy(each))]
        strategies = [{"strategy": each} for each in chosen] if self.strategies else [{}]
        sizes = [{"capacity": size} for size in self.sizes] or [{}]
        return [{**strategy, **size} for size in sizes for strategy in strategies]

    def _run(self, agent: type[Agent], cell: dict[str, Any]) -> Run:
        return Run(
            agent,
            self.env,
            agent.Config.from_settings({**self.settings, **cell}),
            self.steps,
            self.evaluation_interval_steps,
            self.evaluation_episodes,
            self.evaluation_epsilon,
            self.evaluation_max_steps,
        )

    def quick(self) -> Self:
        """The grid with its first two seeds, and the first and fourth of its sizes; the last, where these are fewer."""
        places = sorted({0, min(3, len(self.sizes) - 1)}) if self.sizes else []
        return replace(self, seeds=self.seeds[:QUICK_SEEDS], sizes=[self.sizes[place] for place in places])


@dataclass(frozen=True)
class Task:
    """What scores in an environment mean."""

    nothing: float  # the score of an agent that has learned nothing
    solved: float  # from which on it counts as solved


@dataclass(frozen=True)
class Study:
    """Runs that answer one question, and what a report shows beside them.

    `claims`, `report` and `experiment` are given as `module:name`, because what they name needs extras that a study
    does not: it is imported only when it is used. They come from code, never from a file in a study's folder.
    """

    name: str
    title: str  # of its page; empty: one that says what was run
    grids: tuple[Grid, ...] = ()
    references: tuple[Reference, ...] = ()  # scores published elsewhere
    claims: str = ""  # a `ClaimList`; a report decides those of its claims that name the study
    report: str = ""  # a class that writes the study's page; by default `StudyReport`
    experiment: str = ""  # for a study that is not made of runs: a function (folder, seeds) that writes its files
    brief: tuple[Grid, ...] = ()  # its quick form; none: two seeds and two sizes of each grid
    enlarged: Mapping[tuple[str, str, int], str] = field(default_factory=dict)
    """Learning curves that are also drawn by themselves: environment, agent and size → what they are."""
    tasks: Mapping[str, Task] = field(default_factory=dict)  # by environment; without one, scores speak for themselves

    @property
    def envs(self) -> list[str]:
        """Its environments, in order."""
        return list(dict.fromkeys(grid.env for grid in self.grids))

    @property
    def agents(self) -> list[str]:
        """The names of its agents, in order."""
        return list(dict.fromkeys(grid.agent_name for grid in self.grids))

    def runs(self) -> list[Run]:
        """Every run of the study, once each."""
        if (count := sum(grid.count() for grid in self.grids)) > MOST_RUNS:
            raise InvalidInputError(
                f"the study would have {count:,} runs, and can have at most {MOST_RUNS:,}; choose fewer with --seeds, "
                "--sizes or --strategies"
            )
        return list({run.id: run for grid in self.grids for run in grid.runs()}.values())

    def variants(self) -> dict[str, str]:
        """By run id, what differs from the rest of the study; runs in which nothing does are left out."""
        return {run.id: grid.variant for grid in self.grids if grid.variant for run in grid.runs()}

    def quick(self) -> Self:
        """A small part of the study, which takes minutes."""
        return replace(self, grids=self.brief or tuple(grid.quick() for grid in self.grids))

    def only(
        self,
        *,
        agents: Sequence[str | type[Agent]] | None = None,
        games: Sequence[str] | None = None,
        labels: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
        **choices: Any,
    ) -> Self:
        """The study with these agents and environments only, and with other values for its grids where given.

        Of the grids those are taken that have all the labels.
        An agent of the user's own that the study does not have gets grids like those of the study's own agents.
        """
        grids = list(self.grids) if agents is None else self._grids_of(agents)
        if games is not None:
            names = list(dict.fromkeys(_game(short_name(grid.env)) for grid in grids))
            wanted = [checks.one_of("games", _game(game), names) for game in games]
            grids = [grid for grid in grids if _game(short_name(grid.env)) in wanted]
        for label in labels:
            known = sorted({each for grid in grids for each in grid.labels})
            grids = [grid for grid in grids if checks.one_of("labels", label, known) in grid.labels]
        given = {name: value for name, value in choices.items() if value is not None}
        return replace(
            self,
            grids=tuple(replace(grid, settings={**grid.settings, **(settings or {})}, **given) for grid in grids),
        )

    def _grids_of(self, agents: Sequence[str | type[Agent]]) -> list[Grid]:
        """The study's grids of these agents, and new ones for agents of the user's own."""
        own = [agent for agent in agents if is_foreign(agent) and agent_name(agent) not in self.agents]
        names = [checks.one_of("agents", agent_name(agent), self.agents) for agent in agents if agent not in own]
        chosen = [grid for grid in self.grids if grid.agent_name in names]
        return chosen + [self._grid_like(env, find_agent(agent)) for agent in own for env in self.envs]

    def _grid_like(self, env: str, agent: type[Agent]) -> Grid:
        """A grid for another agent, like the first in that environment whose agent has a memory, or none, as it has.

        Settings stay at the agent's defaults, as those of a grid are meant for another agent.
        """
        grids = [grid for grid in self.grids if grid.env == env and not grid.variant]
        alike = [grid for grid in grids if bool(grid.sizes or grid.strategies) == agent.has_memory]
        return replace((alike or grids)[0], agent=agent, settings={})


def is_foreign(agent: str | type[Agent]) -> bool:
    """Whether an agent is given by its class or as `module:Class`, not by the name of a built-in one."""
    return not isinstance(agent, str) or ":" in agent


def agent_name(agent: str | type[Agent]) -> str:
    """The name of an agent, given in any way. A built-in one is not imported for it."""
    return find_agent(agent).name if is_foreign(agent) else str(agent)


def _game(name: str) -> str:
    """A name of an environment as it is compared: `MsPacman` and `ms_pacman` are the same."""
    return name.replace("_", "").lower()


def load(spec: str) -> Any:
    """The object that `module:name` names."""
    module, _, name = spec.partition(":")
    return getattr(import_module(module), name)


def parse_seeds(text: str, *, first: int = 0) -> tuple[int, ...]:
    """Seeds from `5` (how many, beginning with the first), `5-9` (from, to) or `1,3,8` (which)."""
    if re.fullmatch(r"[0-9]{1,18}", text) and int(text) > 0:
        return _range_of_seeds(first, first + int(text) - 1)
    if (span := re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", text)) and int(span[1]) <= int(span[2]):
        return _range_of_seeds(int(span[1]), int(span[2]))
    if re.fullmatch(r"[0-9]{1,18}(,[0-9]{1,18})+,?|[0-9]{1,18},", text):
        return tuple(dict.fromkeys(int(part) for part in text.split(",") if part))
    raise InvalidInputError(f"seeds must be how many (5), from-to (5-9) or which (1,3,8), got {checks.shown(text)}")


def _range_of_seeds(first: int, last: int) -> tuple[int, ...]:
    if last - first >= MOST_RUNS:
        raise InvalidInputError(f"--seeds: a study can have at most {MOST_RUNS:,} runs, got {last - first + 1:,} seeds")
    return tuple(range(first, last + 1))
