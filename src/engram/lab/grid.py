"""A study as data: grids of runs, and how a part of them is chosen."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from engram import checks
from engram.agents import find_agent
from engram.errors import InvalidInputError
from engram.memory.batch import can_merge_episodes
from engram.memory.strategies import Strategy, get_strategy
from engram.paper.presets import Family, preset
from engram.runs.run import Run

QUICK_SEEDS = (0, 1)


@dataclass(frozen=True)
class Grid:
    """One agent in one environment: every combination of its strategies, memory sizes and seeds."""

    agent: str
    env: str
    family: Family
    steps: int
    seeds: Sequence[int]
    strategies: Sequence[str | Strategy] = ()  # none: an agent without a memory
    sizes: Sequence[int] = ()  # capacities, in entries per action
    settings: Mapping[str, Any] = field(default_factory=dict)  # that differ from the paper's
    evaluation_interval_steps: int = 500
    evaluation_episodes: int = 10
    evaluation_epsilon: float = 0.0
    evaluation_max_steps: int | None = None
    variant: str = ""  # what differs from the rest of the study
    merging_only: bool = False  # strategies that do not merge states are left out

    def runs(self) -> list[Run]:
        """All of them."""
        cells: list[dict[str, Any]] = [{}]
        if find_agent(self.agent).has_memory:
            strategies = [
                each for each in self.strategies if not self.merging_only or can_merge_episodes(get_strategy(each))
            ]
            cells = [{"strategy": each, "capacity": size} for size in self.sizes for each in strategies]
        return [self._run({**cell, "seed": seed}) for cell in cells for seed in self.seeds]

    def _run(self, cell: dict[str, Any]) -> Run:
        settings = {**preset(self.agent, self.family), **self.settings, **cell}
        return Run(
            find_agent(self.agent),
            self.env,
            find_agent(self.agent).Config.from_settings(settings),
            self.steps,
            self.evaluation_interval_steps,
            self.evaluation_episodes,
            self.evaluation_epsilon,
            self.evaluation_max_steps,
        )

    def quick(self) -> Self:
        """A taste: two seeds, and two sizes."""
        return replace(self, seeds=QUICK_SEEDS, sizes=self.sizes[:4:3])


@dataclass(frozen=True)
class Study:
    """Runs that answer one question."""

    name: str
    title: str
    grids: tuple[Grid, ...]

    def runs(self) -> list[Run]:
        """All of them, each once."""
        return list({run.id: run for grid in self.grids for run in grid.runs()}.values())

    def variants(self) -> dict[str, str]:
        """By run id, what differs from the rest of the study; runs in which nothing does are left out."""
        return {run.id: grid.variant for grid in self.grids if grid.variant for run in grid.runs()}

    def quick(self) -> Self:
        """A taste of it, in minutes."""
        return replace(self, grids=tuple(grid.quick() for grid in self.grids))

    def only(
        self,
        *,
        agents: Sequence[str] | None = None,
        games: Sequence[str] | None = None,
        device: str | None = None,
        **choices: Any,
    ) -> Self:
        """The study with these agents and environments only, and with other choices for its grids where given."""
        grids = list(self.grids)
        if agents is not None:
            there = list(dict.fromkeys(grid.agent for grid in grids))
            for agent in agents:
                checks.one_of("agents", agent, there)
            grids = [grid for grid in grids if grid.agent in agents]
        if games is not None:
            names = list(dict.fromkeys(short_name(grid.env) for grid in grids))
            wanted = [game.replace("_", "").lower() for game in games]
            for game in wanted:
                checks.one_of("games", game, names)
            grids = [grid for grid in grids if short_name(grid.env) in wanted]
        if device is not None:
            grids = [replace(grid, settings={**grid.settings, "device": device}) for grid in grids]
        given = {name: value for name, value in choices.items() if value is not None}
        return replace(self, grids=tuple(replace(grid, **given) for grid in grids))


def short_name(env: str) -> str:
    """An environment's name without its namespace and version, in small letters: `mspacman`."""
    return env.rsplit("/", 1)[-1].rsplit("-v", 1)[0].lower()


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds from `5` (how many: 0 to 4), `5-9` (from, to) or `1,3,8` (which)."""
    if re.fullmatch(r"[0-9]+", text) and int(text) > 0:
        return tuple(range(int(text)))
    if (span := re.fullmatch(r"([0-9]+)-([0-9]+)", text)) and int(span[1]) <= int(span[2]):
        return tuple(range(int(span[1]), int(span[2]) + 1))
    if re.fullmatch(r"[0-9]+(,[0-9]+)+,?|[0-9]+,", text):
        return tuple(dict.fromkeys(int(part) for part in text.split(",") if part))
    raise InvalidInputError(f"seeds must be how many (5), from-to (5-9) or which (1,3,8), got {text!r}")
