"""Tables of a study: its scores beside published ones, intervals, and comparisons of strategies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from engram.envs.names import short_name
from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.pages.numbers import digits_for, interval_text, score_text
from engram.lab.pages.page import Entry, Table
from engram.lab.pages.wording import steps_in_words
from engram.lab.reference import Reference, Score
from engram.lab.statistics import FEWEST, difference_from, improvement_interval, interquartile_interval
from engram.typing import Array

UNFILLED = "○"
ABOVE, BELOW = "▲", "▼"
MISSING, NOT_RUN = "missing", "–"  # a run of the cell is not finished; the cell is not part of the study


@dataclass(frozen=True)
class Row:
    """A row of a table of scores."""

    labels: Sequence[str]
    cells: Sequence[Cell]
    entries: Sequence[Entry]


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

    def complete(self) -> dict[str, dict[int, Array]]:
        """The scores of the cells of which no run is missing: strategy → size → scores."""
        found: dict[str, dict[int, Array]] = {}
        for strategy in self.strategies:
            for size in self.sizes:
                if (scores := self.scores(strategy, size)) is not None:
                    found.setdefault(strategy, {})[size] = scores
        return found

    def filled(self, size: int) -> bool:
        """Whether any table of that size ever filled."""
        return self.evidence.filled(self.env, self.agent, size)

    def best(self, size: int) -> tuple[str, ...]:
        """The strategies with the highest mean: none, if a strategy's runs are missing or all have the same."""
        run = [name for name in self.strategies if self.cell(name, size) in self.evidence.steps]
        there = [self.scores(name, size) for name in run]
        means = [float(scores.mean()) for scores in there if scores is not None]
        if not means or len(means) < len(there) or max(means) == min(means):
            return ()
        return tuple(name for name, mean in zip(run, means, strict=True) if mean == max(means))

    @cached_property
    def digits(self) -> int:
        """Digits after the point, the same in all cells."""
        scores = [each for cells in self.complete().values() for each in cells.values()]
        return digits_for(np.concatenate(scores)) if scores else 0

    def rows(self, strategies: Sequence[str]) -> list[Row]:
        """A row for each size, with these strategies: scores, and published ones below."""
        found = []
        for size in self.sizes:
            filled = self.filled(size)
            best = self.best(size) if filled else ()
            cells = [self.cell(name, size) for name in strategies]
            entries = [
                entry(
                    *(self.evidence, cell, self.runs.get(cell, ()), self.references),
                    bold=cell.strategy in best,
                    filled=filled,
                    digits=self.digits,
                )
                for cell in cells
            ]
            found.append(Row([f"{size:,}"], cells, entries))
        return found

    def intervals(self, caption: str) -> Table:
        """Interquartile means with their intervals."""
        rows = []
        for size in self.sizes:
            cells = []
            for name in self.strategies:
                scores, absent = self.scores(name, size), absence(self.evidence, self.cell(name, size))
                cells.append(absent if scores is None else interval_text(interquartile_interval([scores]), self.digits))
            rows.append([f"{size:,}", *cells])
        every = [interquartile_interval(cells.values()) if cells else None for cells in self._filled()]
        rows.append(["all that filled", *(interval_text(each, self.digits) for each in every)])
        return Table(["entries per action", *self.labels], rows, caption)

    def _filled(self) -> list[dict[int, Array]]:
        """For each strategy, the scores at the sizes at which tables filled."""
        there = self.complete()
        return [{size: s for size, s in there.get(name, {}).items() if self.filled(size)} for name in self.strategies]

    def improvements(self, caption: str) -> Table | None:
        """How often a run of one strategy scores higher than one of another, at the same size."""
        cells = dict(zip(self.strategies, self._filled(), strict=True))
        sizes = [size for size in self.sizes if all(size in each for each in cells.values())]
        if not sizes or len(self.strategies) < 2:
            return None
        rows = []
        for ours in self.strategies:
            row = [strategy_label(ours)]
            for theirs in self.strategies:
                if ours == theirs:
                    row.append("–")
                    continue
                pair = ([cells[name][size] for size in sizes] for name in (ours, theirs))
                row.append(interval_text(improvement_interval(*pair), digits=2))
            rows.append(row)
        return Table(["", *(f"> {name}" for name in self.labels)], rows, caption)


def score_table(blocks: Sequence[Block], name: str) -> Table:
    """The scores of one agent; where there are several environments, all in one table."""
    evidence = blocks[0].evidence
    several = len({cell.env for cell in evidence.steps}) > 1
    strategies = list(dict.fromkeys(each for block in blocks for each in block.strategies))
    rows = [
        replace(row, labels=[short_name(block.env), *row.labels]) if several else row
        for block in blocks
        for row in block.rows(strategies)
    ]
    names = [strategy_label(each) for each in strategies]
    header = [*(["environment"] if several else []), "entries per action", *names]
    return titled(evidence, name, header, rows, blocks[0].references)


def titled(
    evidence: Evidence, name: str, header: Sequence[str], rows: Sequence[Row], references: Sequence[Reference] = ()
) -> Table:
    """A table that says how long training was: in its caption, or in each row where that differs."""
    trained = [_steps(evidence, row.cells, references) for row in rows]
    alike = len(set(trained)) == 1
    body: list[list[str | Entry]] = []
    for row, steps in zip(rows, trained, strict=True):
        *labels, last = row.labels
        body.append([*labels, last if alike else Entry(last, [steps]), *row.entries])
    whole = all(each.text != NOT_RUN for row in rows for each in row.entries)
    caption, note = f"{name} after {trained[0]}" if alike else name, "" if whole else f"{NOT_RUN}: not run."
    return Table(header, body, caption, note=note)


def _steps(evidence: Evidence, cells: Sequence[Cell], references: Sequence[Reference]) -> str:
    """How long the runs of these cells were trained, and those of the first reference where that differs."""
    ours = {steps for cell in cells for steps in evidence.steps.get(cell, ())}
    if not references:
        return steps_in_words(ours)
    first = references[0]
    return steps_in_words(ours, {first.scores[cell].steps for cell in cells if cell in first.scores}, first.name)


def legend(evidence: Evidence, references: Sequence[Reference] = ()) -> str:
    """What the cells of the tables show, leaving out what none of them has."""
    parts = [
        "Mean ± standard deviation (ddof 1) over seeds of the runs' scores; bold: the highest mean of its row, if none "
        "is missing."
    ]
    if references:
        parts += _about_references(evidence, references)
    if any(_never_filled(evidence, cell) for cell in evidence.steps):
        parts.append(f"{UNFILLED}: no table ever filled, so no strategy had anything to forget.")
    return " ".join(parts)


def _about_references(evidence: Evidence, references: Sequence[Reference]) -> list[str]:
    """What the published scores are, what the marks mean, and which strategies have no published score."""
    first, *others = references
    theirs = {cell: first.scores[cell] for cell in evidence.steps if cell in first.scores}
    if not theirs:
        return []
    shown = [each for each in others if any(cell in each.scores for cell in theirs)]
    parts = [f"Below: {first.name}'s{''.join(f', and those of {each.name}' for each in shown)}."]
    alike = [evidence.steps[cell] == (score.steps,) for cell, score in theirs.items()]
    if any(alike):
        where = "" if all(alike) else f", marked only where training was as long as {first.name}'s"
        parts.append(
            f"{ABOVE} {BELOW}: ours lies above or below {first.name}'s beyond the 95 % interval (Welch, each cell by "
            f"itself){where}."
        )
    else:
        parts.append(f"None is marked as above or below {first.name}'s, since training was not as long.")
    known = {cell.strategy for cell in theirs}
    envs = {cell.env for cell in theirs}
    new = dict.fromkeys(
        strategy_label(cell.strategy)
        for cell in evidence.steps
        if cell.env in envs and cell.strategy is not None and cell.strategy not in known
    )
    return parts + ([f"Not in {first.name}: {'; '.join(new)}."] if new else [])


def _never_filled(evidence: Evidence, cell: Cell) -> bool:
    """Whether no table of a finished cell ever filled."""
    if cell.capacity is None or evidence.scores(*cell) is None:
        return False
    return not evidence.filled(cell.env, cell.agent, cell.capacity)


def absence(evidence: Evidence, cell: Cell) -> str:
    """Why a cell has no score."""
    return MISSING if cell in evidence.steps else NOT_RUN


def entry(
    evidence: Evidence,
    cell: Cell,
    runs: Sequence[str],
    references: Sequence[Reference] = (),
    *,
    bold: bool = False,
    filled: bool = True,
    digits: int | None = None,
) -> Entry:
    """A cell of a table: its score, and below it the published ones."""
    scores = evidence.scores(*cell)
    published = [(each.prefix, score) for each in references if (score := each.scores.get(cell))]
    below = [f"{prefix}{score.mean:g} ± {score.std:g}" for prefix, score in published]
    hint = "runs: " + ", ".join(runs) if runs else ""
    if scores is None:
        return Entry(absence(evidence, cell), below, dim=True, hint=hint)
    first = references[0].scores.get(cell) if references else None
    mark = differs(scores, first, evidence.steps[cell]) + ("" if filled else UNFILLED)
    return Entry(score_text(scores, digits), below, bold, not filled, hint, mark)


def differs(scores: Array, theirs: Score | None, steps: Sequence[int]) -> str:
    """A mark where ours and theirs are further apart than chance between seeds explains, after equal training."""
    if theirs is None or len(scores) < FEWEST or tuple(steps) != (theirs.steps,):
        return ""
    gap = difference_from(scores, theirs.mean, theirs.std, theirs.seeds)
    return ABOVE if gap.above(0) else BELOW if gap.below(0) else ""
