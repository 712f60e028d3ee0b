"""The scores of runs that differ from the rest of a study, beside those that do not: a figure, a table, a sentence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from engram.lab.cell import Cell
from engram.lab.labels import strategy_label
from engram.lab.pages.differences import Dot, Panel, differences_figure
from engram.lab.pages.numbers import digits_for, interval_text, score_text
from engram.lab.pages.page import Entry, Table
from engram.lab.pages.wording import (
    changes_in_words,
    counted,
    listed,
    number_in_words,
    seeds_in_words,
    sentence,
    worth_in_words,
)
from engram.lab.ranking import together
from engram.lab.results import Results
from engram.lab.statistics import FEWEST, Interval, difference
from engram.pictures.canvas import Figure
from engram.typing import Array

HEADER = ("cell", "what differs", "score", "n", "without it", "n", "difference [95 % interval]")


class Variant(NamedTuple):
    """One cell of a variant, and the same cell without what differs."""

    cell: Cell
    name: str
    scores: Array
    plain: Array

    @property
    def memory(self) -> list[str]:
        """The strategy and the size in words; nothing for an agent without a memory."""
        _, _, strategy, size = self.cell
        return [] if size is None else [strategy_label(str(strategy)), f"{size:,}"]


def find_variants(results: Results) -> list[Variant]:
    """The cells of all variants that were run, with and without what differs; those that lack a run are left out."""
    gone = {(Cell.of(place), place.get("variant", "")) for place in (results.declared[run] for run in results.missing)}
    scores: dict[tuple[Cell, str], dict[int, float]] = {}
    for row in results.runs.drop_nulls("score").iter_rows(named=True):
        scores.setdefault((Cell.of(row), row["variant"]), {})[row["seed"]] = row["score"]
    whole = {
        key: np.array([by_seed[seed] for seed in sorted(by_seed)]) for key, by_seed in scores.items() if key not in gone
    }
    return [
        Variant(cell, name, found, whole[cell, ""])
        for (cell, name), found in whole.items()
        if name and (cell, "") in whole
    ]


@dataclass(frozen=True)
class Variants:
    """All variants of a study; the digits of scores are those of its other tables, by environment and agent."""

    every: Sequence[Variant]
    digits: Mapping[tuple[str, str], int]
    place: Callable[[str, str], str]  # what an environment with an agent is called

    @cached_property
    def gaps(self) -> list[Interval]:
        """How far each lies above the same cell without it, all together at 95 %."""
        return [difference(each.scores, each.plain, level=together(len(self.every))) for each in self.every]

    @property
    def sizes(self) -> list[int]:
        """The entries per action with which variants were tried."""
        return sorted({each.cell.capacity for each in self.every if each.cell.capacity is not None})

    def figure(self) -> Figure:
        """A panel for each agent, environment and size, a line for each variant, a sign for each strategy."""
        panels = dict[str, Panel]()
        for each, gap in zip(self.every, self.gaps, strict=True):
            env, agent, strategy, size = each.cell
            where = self.place(env, agent)
            if size is not None and len(self.sizes) > 1:
                where += f", {size:,}"
            panel = panels.setdefault(where, Panel(where, self._digits(each), []))
            series = "" if strategy is None else strategy_label(strategy)
            panel.dots.append(Dot(each.name, series, difference(each.scores, each.plain), gap))
        return differences_figure(list(panels.values()))

    def caption(self) -> str:
        """What the figure shows."""
        seeds = {len(scores) for each in self.every for scores in (each.scores, each.plain)}
        size = f", with {self.sizes[0]:,} entries per action" if len(self.sizes) == 1 else ""
        lines = (
            "Thick lines: the 95 % interval of a difference by itself (Welch); thin ones: the intervals of which all "
            f"{len(self.every)} hold together at 95 %. Orange: beyond chance by the latter. "
            if max(seeds) >= FEWEST
            else ""
        )
        return (
            f"Mean scores with each variant less those without it{size}, {seeds_in_words(seeds)}: left of the broken "
            f"line they are lower with it. {lines}{worth_in_words(seeds)}"
        ).rstrip()

    def table(self) -> Table:
        """A row for each cell of each variant."""
        rows: list[list[str | Entry]] = []
        for each, gap in zip(self.every, self.gaps, strict=True):
            digits = self._digits(each)
            pairs = [(score_text(scores, digits), str(len(scores))) for scores in (each.scores, each.plain)]
            where = ", ".join([self.place(each.cell.env, each.cell.agent), *each.memory])
            rows.append([where, each.name, *pairs[0], *pairs[1], interval_text(gap, digits)])
        note = (
            f"Mean ± standard deviation over n seeds; {counted(len(self.every), 'interval')}, all together at 95 % "
            "(Welch)."
        )
        return Table(HEADER, rows, note=note)

    def _digits(self, variant: Variant) -> int:
        """As in the study's other tables; of an agent that has none, as many as its scores need."""
        known = self.digits.get((variant.cell.env, variant.cell.agent))
        return digits_for(np.concatenate([variant.scores, variant.plain])) if known is None else known

    @cached_property
    def changed(self) -> dict[str, int]:
        """Of each variant that changes a cell beyond chance, how many it does."""
        found: dict[str, int] = {}
        for each, gap in zip(self.every, self.gaps, strict=True):
            if gap.above(0) or gap.below(0):
                found[each.name] = found.get(each.name, 0) + 1
        return found

    @property
    def names(self) -> list[str]:
        """The variants, each once."""
        return list(dict.fromkeys(each.name for each in self.every))

    def in_short(self) -> str:
        """How many variants change something beyond chance."""
        return sentence(changes_in_words(len(self.changed), len(self.names), "variant", "score beyond chance"))

    def in_words(self) -> str:
        """How many cells a variant changes beyond chance, and which variants do."""
        if not self.changed:
            least = min(len(scores) for each in self.every for scores in (each.scores, each.plain))
            names = f" ({listed(self.names)})"
            none = changes_in_words(0, len(self.names), "variant", "score beyond chance", names)
            return sentence(f"{none}; with n = {least} only large changes would show")
        if len(self.every) == 1:
            return sentence(f"{self.names[0]} changes the score beyond chance in the one cell in which it was tried")
        parts = [f"{name} in {number_in_words(times)}" for name, times in self.changed.items()]
        return sentence(
            f"of {counted(len(self.every), 'cell')} with a variant, these differ beyond chance from the same cell "
            f"without it: {listed(parts)}"
        )
