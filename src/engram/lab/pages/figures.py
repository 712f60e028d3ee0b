"""The figures of a study: learning curves, and what a larger memory buys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engram.agents import label_of
from engram.envs.names import short_name
from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.pages import page, sizes
from engram.lab.pages.curves import BAND, Curve, curve_grid, learning_curves
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.score_tables import Block
from engram.lab.pages.style import Look
from engram.lab.pages.wording import steps_in_words
from engram.pictures.canvas import Figure
from engram.runs.finished import LAST_EVALUATIONS
from engram.typing import Array

MEANS = f"Lines: mean over seeds; bands: {BAND}."


@dataclass(frozen=True)
class Figures:
    """Draws the figures of a study and writes each to a file."""

    evidence: Evidence
    blocks: Sequence[Block]  # of all environments and agents with a memory
    looks: Mapping[str, Look]  # by label
    out: Path
    enlarged: Mapping[tuple[str, str, int], str] = field(default_factory=dict)  # environment, agent, size → what it is

    def curves(self) -> list[page.Block]:
        """Learning curves: a panel for each memory size, or for each environment where all have one size only."""
        found: list[page.Block] = []
        for agent in dict.fromkeys(block.agent for block in self.blocks):
            blocks = [block for block in self.blocks if block.agent == agent]
            sizes_ = {size for block in blocks for size in block.sizes}
            if len(blocks) > 1 and len(sizes_) == 1:
                (size,) = sizes_
                panels = {short_name(block.env): self._panel(block, size) for block in blocks}
                found += self._grid(blocks, panels, f"{label_of(agent)} with {size:,} entries per action")
            else:
                found += [figure for block in blocks for figure in self._by_panel(block)]
        return found

    def _by_panel(self, block: Block) -> list[page.Block]:
        """The curves of one agent in one environment, and those that the study enlarges by themselves."""
        panels = {f"{size:,} entries": self._panel(block, size) for size in block.sizes}
        where = f"{label_of(block.agent)} in {short_name(block.env)}"
        found = self._grid([block], panels, f"{where}, for each number of entries per action")
        for (env, agent, size), what in self.enlarged.items():
            if (env, agent) == (block.env, block.agent) and (curves := panels.get(f"{size:,} entries")):
                single = learning_curves(curves, self.looks, y_label="Return")
                about = f"{where} with {size:,} entries per action ({what})"
                caption = f"{about}, over {steps_in_words(block.steps([size]))}. {MEANS}"
                found.append(self._drawing(single, f"curves-{agent}-{size}", caption, env))
        return found

    def _grid(self, blocks: Sequence[Block], panels: Mapping[str, Sequence[Curve]], about: str) -> list[page.Block]:
        """One figure of all panels that have curves."""
        drawn = {title: curves for title, curves in panels.items() if curves}
        if not drawn:
            return []
        steps = steps_in_words({steps for block in blocks for steps in block.steps(block.sizes)})
        shown = {curve.label for curves in drawn.values() for curve in curves}
        agents = dict.fromkeys(agent for block in blocks for agent in self.evidence.baselines(block.env))
        baseline = "".join(f", and {label_of(agent)}" for agent in agents if label_of(agent) in shown)
        alone = blocks[0].env if len(blocks) == 1 else None
        figure = curve_grid(drawn, self.looks, y_label="Return", same_returns=alone is not None)
        caption = f"{about}{baseline}, over {steps}. {MEANS}"
        return [self._drawing(figure, f"curves-{blocks[0].agent}", caption, alone)]

    def _panel(self, block: Block, size: int) -> list[Curve]:
        """A curve for each strategy and each agent without a memory of which no run is missing."""
        cells = {block.cell(name, size): strategy_label(name) for name in block.strategies}
        cells |= {Cell(block.env, agent, None, None): label_of(agent) for agent in self.evidence.baselines(block.env)}
        found = []
        for cell, name in cells.items():
            seeds = self.evidence.curves.get(cell)
            if seeds and cell not in self.evidence.incomplete:
                found.append(Curve.of(name, [seeds[seed] for seed in sorted(seeds)]))
        return found

    def by_size(self) -> list[page.Block]:
        """Scores over memory sizes, for environments in which there are several."""
        found: list[page.Block] = []
        for env in dict.fromkeys(block.env for block in self.blocks):
            blocks = [block for block in self.blocks if block.env == env and len(block.sizes) > 1 and block.complete()]
            if blocks:
                found += self._over_sizes(env, [self._sizes(block) for block in blocks])
        return found

    def _sizes(self, block: Block) -> sizes.Panel:
        complete = block.complete()
        baselines = {
            agent: self.evidence.scores(block.env, agent, None, None) for agent in self.evidence.baselines(block.env)
        }
        return sizes.Panel(
            label_of(block.agent),
            {strategy_label(name): cells for name, cells in complete.items()},
            {
                strategy_label(name): {size: self._last(block.cell(name, size)) for size in cells}
                for name, cells in complete.items()
            },
            {label_of(agent): float(scores.mean()) for agent, scores in baselines.items() if scores is not None},
            frozenset(size for size in block.sizes if not block.filled(size)),
        )

    def _last(self, cell: Cell) -> Array:
        """The returns of the last evaluations of all seeds of a cell."""
        return np.concatenate([returns[-LAST_EVALUATIONS:] for _, returns in self.evidence.curves[cell].values()])

    def _over_sizes(self, env: str, panels: Sequence[sizes.Panel]) -> list[page.Block]:
        where = f"{short_name(env)}: " if self._several else ""
        star = " *: no table ever filled." if any(panel.empty for panel in panels) else ""
        return [
            self._drawing(
                sizes.score_by_size(panels, self.looks, y_label="Score"),
                "score-by-size",
                f"{where}Mean score over seeds with 95 % bootstrap intervals.{star}",
                env,
            ),
            self._drawing(
                sizes.boxes(panels, self.looks, y_label="Return"),
                "boxes",
                f"{where}Returns of the last {LAST_EVALUATIONS} evaluations of all seeds: quartiles, median, "
                f"extremes.{star}",
                env,
            ),
            self._drawing(
                sizes.memory_needed(panels, self.looks, x_label="Mean score"),
                "memory-needed",
                f"{where}The smallest memory with which a strategy's mean score reaches a level, interpolated between "
                "the sizes that were run; a line ends at the highest score that the strategy reached.",
                env,
            ),
        ]

    @property
    def _several(self) -> bool:
        return len({block.env for block in self.blocks}) > 1

    def _drawing(self, figure: Figure, name: str, caption: str, env: str | None) -> page.Drawing:
        stem = name if env is None or not self._several else f"{short_name(env).lower()}-{name}"
        return write_figure(figure, self.out, stem, caption)
