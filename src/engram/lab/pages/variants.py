"""The scores of runs that differ from the rest of a study, beside those that do not."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engram.lab.cell import Cell
from engram.lab.labels import strategy_label
from engram.lab.pages.numbers import digits_for, interval_text, score_text
from engram.lab.pages.page import Entry, Table
from engram.lab.pages.wording import counted, listed, number_in_words, sentence
from engram.lab.ranking import together
from engram.lab.results import Results
from engram.lab.statistics import Interval, difference
from engram.lab.verdicts import place_label
from engram.typing import Array

HEADER = ("cell", "what differs", "score", "n", "without it", "n", "difference [95 % interval]")


class Variant(NamedTuple):
    """One cell of a variant, and the same cell without what differs."""

    cell: Cell
    name: str
    scores: Array
    plain: Array

    @property
    def where(self) -> str:
        """The cell in words."""
        memory = (
            [] if self.cell.capacity is None else [strategy_label(str(self.cell.strategy)), f"{self.cell.capacity:,}"]
        )
        return ", ".join([place_label(self.cell.env, self.cell.agent), *memory])


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


def gaps(variants: Sequence[Variant]) -> list[Interval]:
    """How far each lies above the same cell without it, all together at 95 %."""
    return [difference(each.scores, each.plain, level=together(len(variants))) for each in variants]


def variants_table(variants: Sequence[Variant]) -> Table:
    """A row for each cell of each variant."""
    rows: list[list[str | Entry]] = []
    for each, gap in zip(variants, gaps(variants), strict=True):
        digits = digits_for(np.concatenate([each.scores, each.plain]))
        pairs = [(score_text(scores, digits), str(len(scores))) for scores in (each.scores, each.plain)]
        rows.append([each.where, each.name, *pairs[0], *pairs[1], interval_text(gap, digits)])
    note = (
        f"Mean ± standard deviation over n seeds; {counted(len(variants), 'interval')}, all together at 95 % (Welch)."
    )
    return Table(HEADER, rows, note=note)


def variants_in_words(variants: Sequence[Variant]) -> str:
    """How many cells a variant changes beyond chance, and which variants do."""
    changed: dict[str, int] = {}
    for each, gap in zip(variants, gaps(variants), strict=True):
        if gap.above(0) or gap.below(0):
            changed[each.name] = changed.get(each.name, 0) + 1
    names = list(dict.fromkeys(each.name for each in variants))
    if not changed:
        least = min(len(scores) for each in variants for scores in (each.scores, each.plain))
        return sentence(
            f"none of {counted(len(names), 'variant')} ({listed(names)}) changes a score beyond chance; with n = "
            f"{least} only large changes would show"
        )
    parts = [f"{name} in {number_in_words(times)}" for name, times in changed.items()]
    return sentence(
        f"of {counted(len(variants), 'cell')} with a variant, these differ beyond chance from the same cell without "
        f"it: {listed(parts)}"
    )
