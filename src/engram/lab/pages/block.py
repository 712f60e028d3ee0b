"""The cells of one agent in one environment: what a table of a study's page shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.pages.numbers import digits_for
from engram.lab.ranking import Comparison, best_of
from engram.lab.reference import Reference
from engram.typing import Array


@dataclass(frozen=True)
class Block:
    """The cells of one agent in one environment, as a table has them."""

    evidence: Evidence
    env: str
    agent: str
    strategies: Sequence[str]
    sizes: Sequence[int]
    runs: Mapping[Cell, Sequence[str]] = field(default_factory=dict)  # ids, by cell
    references: Sequence[Reference] = ()  # published scores to be shown below

    @property
    def labels(self) -> list[str]:
        """The strategies as tables and figures name them."""
        return [strategy_label(name) for name in self.strategies]

    @property
    def env_name(self) -> str:
        """The environment as tables and figures name it."""
        return self.evidence.env_names[self.env]

    @property
    def place(self) -> str:
        """The environment and the agent: `CartPole, NEC`."""
        return self.evidence.place(self.env, self.agent)

    def cell(self, strategy: str, size: int) -> Cell:
        """The cell of a strategy and a size."""
        return Cell(self.env, self.agent, strategy, size)

    def scores(self, strategy: str, size: int) -> Array | None:
        """One score per seed; None where a run is missing."""
        return self.evidence.scores(*self.cell(strategy, size))

    def steps(self, sizes: Sequence[int]) -> set[int]:
        """The numbers of training steps of the runs at these sizes."""
        cells = [self.cell(name, size) for name in self.strategies for size in sizes]
        return {steps for cell in cells for steps in self.evidence.steps.get(cell, ())}

    @cached_property
    def complete(self) -> dict[str, dict[int, Array]]:
        """The scores of the cells of which no run is missing: strategy → size → scores."""
        found: dict[str, dict[int, Array]] = {}
        for strategy in self.strategies:
            for size in self.sizes:
                if (scores := self.scores(strategy, size)) is not None:
                    found.setdefault(strategy, {})[size] = scores
        return found

    def complete_at(self, size: int) -> dict[str, Array]:
        """The scores of a size by strategy, of those of which no run is missing."""
        return {name: by_size[size] for name, by_size in self.complete.items() if size in by_size}

    @property
    def seeds(self) -> set[int]:
        """The numbers of seeds of the cells of which no run is missing."""
        return {len(scores) for by_size in self.complete.values() for scores in by_size.values()}

    def filled(self, size: int) -> bool:
        """Whether any table of that size ever filled."""
        return self.evidence.filled(self.env, self.agent, size)

    @cached_property
    def filled_sizes(self) -> list[int]:
        """The sizes at which a table filled, so that something had to be forgotten."""
        return [size for size in self.sizes if self.filled(size)]

    @cached_property
    def comparison(self) -> Comparison | None:
        """The strategies at the sizes at which tables filled and no run is missing; None without two of them.

        Where they were not run at the same sizes, as many of them as were, at as many sizes as these have in common.
        """
        found = [each for names in self._run_together() if (each := self._compared(names)) is not None]
        return max(found, key=lambda each: (len(each.scores) * len(each.sizes), len(each.scores)), default=None)

    def _run_together(self) -> list[tuple[str, ...]]:
        """All strategies, if they have a size in common; otherwise those of each size."""
        at = {size: tuple(name for name in self.strategies if self.was_run(name, size)) for size in self.filled_sizes}
        every = tuple(self.strategies)
        return [every] if every in at.values() else list(dict.fromkeys(at.values()))

    def _compared(self, names: Sequence[str]) -> Comparison | None:
        there = [size for size in self.filled_sizes if all(size in self.complete.get(name, ()) for name in names)]
        if not there or len(names) < 2:
            return None
        return Comparison({name: {size: self.complete[name][size] for size in there} for name in names})

    def was_run(self, strategy: str, size: int) -> bool:
        """Whether the study has runs of a strategy at a size, finished or not."""
        return self.cell(strategy, size) in self.evidence.steps

    def best(self, size: int) -> tuple[str, ...]:
        """The strategies that no other is better than: none, if a strategy's runs are missing or all are alike."""
        run = [name for name in self.strategies if self.was_run(name, size)]
        there = {name: scores for name in run if (scores := self.scores(name, size)) is not None}
        return best_of(there) if len(there) == len(run) else ()

    @cached_property
    def digits(self) -> int:
        """Digits after the point, the same in all cells."""
        scores = [each for cells in self.complete.values() for each in cells.values()]
        return digits_for(np.concatenate(scores)) if scores else 0
