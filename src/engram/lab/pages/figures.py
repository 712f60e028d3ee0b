"""The figures of a study: learning curves, and what a larger memory buys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engram.agents import label_of
from engram.lab.claims import name_of
from engram.lab.evidence import Cell, Evidence
from engram.lab.pages import page, sizes
from engram.lab.pages.canvas import Figure
from engram.lab.pages.curves import BAND, Curve, curve_grid, learning_curves
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.style import Look
from engram.lab.pages.tables import Block
from engram.lab.pages.wording import steps_in_words
from engram.runs.folder import LAST_EVALUATIONS
from engram.typing import Array

MEANS = f"Lines: mean over seeds; bands: {BAND}."


@dataclass(frozen=True)
class Figures:
    """What is drawn, each figure being a file too."""

    evidence: Evidence
    blocks: Sequence[Block]  # of all environments and agents
    looks: Mapping[str, Look]
    out: Path

    def curves(self) -> list[page.Block]:
        """Learning curves: a panel for each memory size, or for each environment where all have one size only."""
        found: list[page.Block] = []
        for agent in dict.fromkeys(block.agent for block in self.blocks):
            blocks = [block for block in self.blocks if block.agent == agent]
            sizes_ = {size for block in blocks for size in block.sizes}
            if len(blocks) > 1 and len(sizes_) == 1:
                (size,) = sizes_
                panels = {name_of(block.env): self._panel(block, size) for block in blocks}
                found += self._grid(blocks, panels, f"{label_of(agent)} with {size:,} entries per action")
            else:
                found += [figure for block in blocks for figure in self._by_panel(block)]
        return found

    def _by_panel(self, block: Block) -> list[page.Block]:
        """The curves of one environment, and by themselves those that the paper shows."""
        panels = {f"{size:,} entries": self._panel(block, size) for size in block.sizes}
        about = f"{label_of(block.agent)} in {name_of(block.env)}, for each number of entries per action"
        found = self._grid([block], panels, about)
        if (block.env, block.agent) == ("CartPole-v1", "nec") and (curves := panels.get("50 entries")):
            single = learning_curves(curves, self.looks, y_label="Return")
            about = "NEC in CartPole with 50 entries per action (the paper's Figure 2)"
            caption = f"{about}, over {steps_in_words(block.steps([50]))}. {MEANS}"
            found.append(self._drawing(single, "curves-nec-50", caption, block.env))
        return found

    def _grid(self, blocks: Sequence[Block], panels: Mapping[str, Sequence[Curve]], about: str) -> list[page.Block]:
        """One figure of all panels that have curves."""
        drawn = {title: curves for title, curves in panels.items() if curves}
        if not drawn:
            return []
        steps = steps_in_words({steps for block in blocks for steps in block.steps(block.sizes)})
        baseline = ", and D3QN" if any(curve.label == "D3QN" for curves in drawn.values() for curve in curves) else ""
        alone = blocks[0].env if len(blocks) == 1 else None
        figure = curve_grid(drawn, self.looks, y_label="Return", same_returns=alone is not None)
        caption = f"{about}{baseline}, over {steps}. {MEANS}"
        return [self._drawing(figure, f"curves-{blocks[0].agent}", caption, alone)]

    def _panel(self, block: Block, size: int) -> list[Curve]:
        """A curve for each strategy, and for D3QN, if none of its runs is missing."""
        cells = {block.cell(name, size): name for name in block.strategies}
        cells[Cell(block.env, "d3qn", None, None)] = "D3QN"
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
            blocks = [block for block in self.blocks if block.env == env and len(block.sizes) > 1 and block.there()]
            if blocks:
                found += self._over_sizes(env, [self._sizes(block) for block in blocks])
        return found

    def _sizes(self, block: Block) -> sizes.Panel:
        baseline, there = self.evidence.scores(block.env, "d3qn", None, None), block.there()
        return sizes.Panel(
            label_of(block.agent),
            there,
            {name: {size: self._last(block.cell(name, size)) for size in cells} for name, cells in there.items()},
            None if baseline is None else float(baseline.mean()),
            frozenset(size for size in block.sizes if not block.filled(size)),
        )

    def _last(self, cell: Cell) -> Array:
        return np.concatenate([returns[-LAST_EVALUATIONS:] for _, returns in self.evidence.curves[cell].values()])

    def _over_sizes(self, env: str, panels: Sequence[sizes.Panel]) -> list[page.Block]:
        where = f"{name_of(env)}: " if self._several else ""
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
        stem = name if env is None or not self._several else f"{name_of(env).lower()}-{name}"
        return write_figure(figure, self.out, stem, caption)
