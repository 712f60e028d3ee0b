"""Which learning curves are drawn: panels with something to see, and one for all sizes at which there is nothing."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engram.agents import label_of
from engram.lab.cell import Cell
from engram.lab.labels import strategy_label
from engram.lab.pages.block import Block
from engram.lab.pages.curves import ANY, Curve, CurvePanel
from engram.lab.pages.wording import seeds_in_words

SHOWN = 4  # panels of an agent at most
UNFILLED = "no table filled:\nall strategies are the same"


@dataclass(frozen=True)
class CurvePanels:
    """The learning curves of one agent in one environment."""

    block: Block

    def curves(self, size: int) -> list[Curve]:
        """A curve for each strategy and each agent without a memory of which no run is missing."""
        evidence, env = self.block.evidence, self.block.env
        cells = {self.block.cell(name, size): strategy_label(name) for name in self.block.strategies}
        cells |= {Cell(env, agent, None, None): label_of(agent) for agent in evidence.baselines(env)}
        found = []
        for cell, name in cells.items():
            seeds = evidence.curves.get(cell)
            if seeds and cell not in evidence.incomplete:
                found.append(Curve.of(name, [seeds[seed] for seed in sorted(seeds)]))
        return found

    def every(self) -> list[CurvePanel]:
        """A panel for each size with something to see, and one for each reason why there is nothing, by size."""
        return self._ordered(self.live)

    def chosen(self, sizes: Collection[int]) -> list[CurvePanel]:
        """A panel for each of these sizes with something to see, and one for each reason why there is nothing."""
        return self._ordered([size for size in self.live if size in sizes])

    def _ordered(self, live: Sequence[int]) -> list[CurvePanel]:
        """The panels of these sizes and of those at which there is nothing to see, the smallest first."""
        panels = [*((size, self._panel(size)) for size in live), *self.dead()]
        return [panel for _, panel in sorted(panels, key=lambda pair: pair[0])]

    def of_env(self, size: int) -> list[CurvePanel]:
        """The panel of one size, named after the environment."""
        curves = self.curves(size)
        title = f"{self.block.env_name}, {self._n(curves)}"
        return [CurvePanel(title, curves, self._n_of_others(curves))] if curves else []

    @cached_property
    def live(self) -> list[int]:
        """The sizes at which a table filled, and strategies have returns that differ."""
        return [size for size in self.block.sizes if self._own(size) and size not in (*self._unfilled, *self._flat)]

    @property
    def _unfilled(self) -> list[int]:
        return [size for size in self.block.sizes if self._own(size) and not self.block.filled(size)]

    @property
    def _flat(self) -> list[int]:
        """The sizes at which every return of every run is the same from beginning to end."""
        found = []
        for size in self.block.sizes:
            own = self._own(size)
            if (
                own
                and size not in self._unfilled
                and np.ptp(np.concatenate([each.returns.ravel() for each in own])) == 0
            ):
                found.append(size)
        return found

    def _own(self, size: int) -> list[Curve]:
        """The curves at a size without those of agents that have no memory."""
        return [curve for curve in self.curves(size) if curve.label in self.block.labels]

    def _baselines(self, size: int) -> list[Curve]:
        """The curves of agents that have no memory."""
        return [curve for curve in self.curves(size) if curve.label not in self.block.labels]

    def dead(self) -> list[tuple[int, CurvePanel]]:
        """A panel for each reason why there is nothing to see, with the smallest of its sizes."""
        found = []
        if self._flat:
            value = self._own(self._flat[0])[0].returns[0, 0]
            note = f"every return is {value:g},\nwhatever the strategy"
            own = [curve for size in self._flat for curve in self._own(size)]
            found.append((self._flat[0], CurvePanel(f"{_entries(self._flat)}, {self._n(own)}", [], note)))
        if self._unfilled:
            one, *_ = self._own(self._unfilled[0])
            title = f"{_entries(self._unfilled)}, {self._n([one])}"
            others = self._baselines(self._unfilled[0])
            more = self._n_of_others([one, *others])
            note = f"{more}; {UNFILLED}" if more else UNFILLED
            curves = [replace(one, label=ANY), *others]
            found.append((self._unfilled[0], CurvePanel(title, curves, note)))
        return found

    def _panel(self, size: int) -> CurvePanel:
        curves = self.curves(size)
        return CurvePanel(f"{_entries([size])}, {self._n(curves)}", curves, self._n_of_others(curves))

    def _n(self, curves: Sequence[Curve]) -> str:
        """The number of seeds of the strategies' curves."""
        own = [curve for curve in curves if curve.label in self.block.labels]
        return seeds_in_words({len(curve.returns) for curve in own})

    def _n_of_others(self, curves: Sequence[Curve]) -> str:
        """The numbers of seeds of agents without a memory, where they are not those of the strategies."""
        own = {len(curve.returns) for curve in curves if curve.label in self.block.labels}
        others = {each.label: len(each.returns) for each in curves if each.label not in self.block.labels}
        return ", ".join(f"{name}: n = {count}" for name, count in others.items() if own and own != {count})


def shown_sizes(every: Sequence[CurvePanels]) -> list[list[int]]:
    """Of each agent the sizes that are drawn where not all can be: the same for all agents, and spread over all.

    An agent with room for more also has sizes at which others have nothing to see.
    """
    rooms = [max(1, SHOWN - len(panels.dead())) for panels in every]
    common = [size for size in every[0].live if all(size in panels.live for panels in every)] if every else []
    if not common:
        return [_spread(panels.live, room) for panels, room in zip(every, rooms, strict=True)]
    shared = _spread(common, min(rooms))
    found = []
    for panels, room in zip(every, rooms, strict=True):
        own = [size for size in panels.live if size not in common]
        found.append(sorted([*shared, *_spread(own, room - len(shared))]))
    return found


def _spread(sizes: Sequence[int], room: int) -> list[int]:
    """As many sizes as there is room for, from the smallest to the largest; for one, the largest."""
    count = min(room, len(sizes))
    if count < 2:
        return list(sizes[-count:]) if count else []
    places = np.linspace(0, len(sizes) - 1, count).round().astype(int)
    return [sizes[place] for place in places]


def _entries(sizes: Sequence[int]) -> str:
    """`50 entries`; of several sizes, the first and the last."""
    return f"{sizes[0]:,}{f'–{sizes[-1]:,}' if len(sizes) > 1 else ''} entries"
