"""Tables of a study: ours beside theirs, intervals, and who beats whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from engram.lab.claims import name_of
from engram.lab.evidence import Cell, Evidence
from engram.lab.pages.page import Entry, Table
from engram.lab.pages.wording import steps_in_words
from engram.lab.statistics import (
    Interval,
    difference_from,
    improvement_interval,
    pooled_interquartile_mean,
    stratified_bootstrap,
)
from engram.paper.published import PAPER, RERUN, Score
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

    def cell(self, strategy: str, size: int) -> Cell:
        """Where its runs stand."""
        return Cell(self.env, self.agent, strategy, size)

    def scores(self, strategy: str, size: int) -> Array | None:
        """Of the seeds, if all are there."""
        return self.evidence.scores(*self.cell(strategy, size))

    def steps(self, sizes: Sequence[int]) -> set[int]:
        """Of training, in the runs at these sizes."""
        cells = [self.cell(name, size) for name in self.strategies for size in sizes]
        return {steps for cell in cells for steps in self.evidence.steps.get(cell, ())}

    def there(self) -> dict[str, dict[int, Array]]:
        """All cells that are whole: strategy → size → scores."""
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
        """After the point, the same in all cells."""
        scores = [each for cells in self.there().values() for each in cells.values()]
        return digits_for(np.concatenate(scores)) if scores else 0

    def rows(self, strategies: Sequence[str]) -> list[Row]:
        """A row for each size, with these strategies: scores, and the paper's below where it prints any."""
        found = []
        for size in self.sizes:
            filled = self.filled(size)
            best = self.best(size) if filled else ()
            cells = [self.cell(name, size) for name in strategies]
            entries = [
                entry(
                    *(self.evidence, cell, self.runs.get(cell, ())),
                    bold=cell.strategy in best,
                    filled=filled,
                    digits=self.digits,
                )
                for cell in cells
            ]
            found.append(Row([f"{size:,}"], cells, entries))
        return found

    def intervals(self, caption: str) -> Table:
        """Interquartile means with stratified bootstrap intervals."""
        rows = []
        for size in self.sizes:
            cells = []
            for name in self.strategies:
                scores, absent = self.scores(name, size), absence(self.evidence, self.cell(name, size))
                cells.append(absent if scores is None else interval_text(robust_mean([scores]), self.digits))
            rows.append([f"{size:,}", *cells])
        every = [robust_mean(list(cells.values())) for cells in self._filled()]
        rows.append(["all that filled", *(interval_text(each, self.digits) for each in every)])
        return Table(["entries per action", *self.strategies], rows, caption)

    def _filled(self) -> list[dict[int, Array]]:
        there = self.there()
        return [{size: s for size, s in there.get(name, {}).items() if self.filled(size)} for name in self.strategies]

    def improvements(self, caption: str) -> Table | None:
        """How often a run of one strategy scores higher than one of another, at the same size."""
        cells = dict(zip(self.strategies, self._filled(), strict=True))
        sizes = [size for size in self.sizes if all(size in each for each in cells.values())]
        if not sizes or len(self.strategies) < 2:
            return None
        rows = []
        for ours in self.strategies:
            row = [ours]
            for theirs in self.strategies:
                if ours == theirs:
                    row.append("–")
                    continue
                pair = ([cells[name][size] for size in sizes] for name in (ours, theirs))
                row.append(interval_text(improvement_interval(*pair, repetitions=2_000), digits=2))
            rows.append(row)
        return Table(["", *(f"> {name}" for name in self.strategies)], rows, caption)


def score_table(blocks: Sequence[Block], name: str) -> Table:
    """The scores of one agent; where there are several environments, all in one table."""
    evidence = blocks[0].evidence
    several = len({cell.env for cell in evidence.steps}) > 1
    strategies = list(dict.fromkeys(each for block in blocks for each in block.strategies))
    rows = [
        replace(row, labels=[name_of(block.env), *row.labels]) if several else row
        for block in blocks
        for row in block.rows(strategies)
    ]
    header = [*(["environment"] if several else []), "entries per action", *strategies]
    return titled(evidence, name, header, rows)


def titled(evidence: Evidence, name: str, header: Sequence[str], rows: Sequence[Row]) -> Table:
    """A table that says after how many steps of training: in its caption, or in each row where those are not alike."""
    told = [_steps_told(evidence, row.cells) for row in rows]
    alike = len(set(told)) == 1
    body: list[list[str | Entry]] = []
    for row, steps in zip(rows, told, strict=True):
        *labels, last = row.labels
        body.append([*labels, last if alike else Entry(last, [steps]), *row.entries])
    whole = all(each.text != NOT_RUN for row in rows for each in row.entries)
    caption, note = f"{name} after {told[0]}" if alike else name, "" if whole else f"{NOT_RUN}: not run."
    return Table(header, body, caption, note=note)


def _steps_told(evidence: Evidence, cells: Sequence[Cell]) -> str:
    ours = {steps for cell in cells for steps in evidence.steps.get(cell, ())}
    return steps_in_words(ours, {PAPER[cell].steps for cell in cells if cell in PAPER})


def legend(evidence: Evidence) -> str:
    """What the cells of tables show, as far as there is any of it."""
    theirs = {cell: PAPER[cell] for cell in evidence.steps if cell in PAPER}
    alike = [evidence.steps[cell] == (score.steps,) for cell, score in theirs.items()]
    told = [
        "Mean ± standard deviation (ddof 1) over seeds of the runs' scores; bold: the highest mean of its row, if none "
        "is missing."
    ]
    if theirs:
        rerun = ", and those of a rerun of its authors' code" if any(cell in RERUN for cell in theirs) else ""
        told.append(f"Below: the paper's{rerun}.")
    if any(alike):
        where = "" if all(alike) else ", marked only where training was as long as the paper's"
        told.append(
            f"{ABOVE} {BELOW}: ours lies above or below the paper's beyond the 95 % interval (Welch, each cell by "
            f"itself){where}."
        )
    elif theirs:
        told.append("None is marked as above or below the paper's, since training was not as long.")
    known = {cell.strategy for cell in theirs}
    games = {cell.env for cell in theirs}
    new = dict.fromkeys(cell.strategy for cell in evidence.steps if cell.env in games and cell.strategy not in known)
    told += [f"Not in the paper: {'; '.join(map(str, new))}."] if new else []
    if any(_never_filled(evidence, cell) for cell in evidence.steps):
        told.append(f"{UNFILLED}: no table ever filled, so no strategy had anything to forget.")
    return " ".join(told)


def _never_filled(evidence: Evidence, cell: Cell) -> bool:
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
    *,
    bold: bool = False,
    filled: bool = True,
    digits: int | None = None,
) -> Entry:
    """A cell: ours, and below it theirs."""
    scores, paper, rerun = evidence.scores(*cell), PAPER.get(cell), RERUN.get(cell)
    below = [f"{name}{score.mean:g} ± {score.std:g}" for name, score in (("", paper), ("rerun ", rerun)) if score]
    hint = "runs: " + ", ".join(runs) if runs else ""
    if scores is None:
        return Entry(absence(evidence, cell), below, dim=True, hint=hint)
    mark = differs(scores, paper, evidence.steps[cell]) + ("" if filled else UNFILLED)
    return Entry(score_text(scores, digits), below, bold, not filled, hint, mark)


def differs(scores: Array, theirs: Score | None, steps: Sequence[int]) -> str:
    """A mark, if ours and theirs are further apart than chance between seeds explains, after the same training."""
    if theirs is None or len(scores) < 2 or tuple(steps) != (theirs.steps,):
        return ""
    gap = difference_from(scores, theirs.mean, theirs.std, theirs.seeds)
    return ABOVE if gap.above(0) else BELOW if gap.below(0) else ""


def robust_mean(strata: Sequence[Array]) -> Interval | None:
    """The interquartile mean of all scores, each stratum resampled on its own."""
    return stratified_bootstrap(pooled_interquartile_mean, strata, repetitions=2_000) if strata else None


def digits_for(scores: Array) -> int:
    """Two places for returns between −1 and 1, one below 100, none for larger ones."""
    largest = float(np.max(np.abs(scores)))
    return 2 if largest <= 1 else 1 if largest < 100 else 0


def score_text(scores: Array, digits: int | None = None) -> str:
    """Mean ± standard deviation; a single seed has none."""
    digits = digits_for(scores) if digits is None else digits
    mean = f"{_zero(float(scores.mean()), digits):.{digits}f}"
    return mean if len(scores) == 1 else f"{mean} ± {float(scores.std(ddof=1)):.{digits}f}"


def interval_text(interval: Interval | None, digits: int | None = None) -> str:
    """Estimate and bounds."""
    if interval is None:
        return "–"
    places = digits_for(np.array(interval.estimate)) if digits is None else digits
    low, estimate, high = (_zero(value, places) for value in interval)
    if not np.isfinite(low):
        return f"{estimate:.{places}f}"
    return f"{estimate:.{places}f} [{low:.{places}f}, {high:.{places}f}]"


def _zero(value: float, digits: int) -> float:
    """Without the sign of a number that rounds to nothing."""
    return value if abs(value) >= 0.5 * 10**-digits else 0.0
