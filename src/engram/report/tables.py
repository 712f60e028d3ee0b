"""Tables of a study: ours beside theirs, intervals, and who beats whom."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engram.report.claims.evidence import Cell, Evidence
from engram.report.page import Entry, Table
from engram.report.published import PAPER, RERUN, Score
from engram.report.statistics import (
    Interval,
    difference_from,
    improvement_interval,
    pooled_interquartile_mean,
    stratified_bootstrap,
)
from engram.typing import Array

UNFILLED = "○"
ABOVE, BELOW = "▲", "▼"
THEIRS = (
    f" Below: the paper's, and those of a rerun of its authors' code. {ABOVE} {BELOW}: ours lies above or below the "
    "paper's beyond the 95 % interval (Welch, each cell by itself)."
)
LEGEND = (
    "Mean ± standard deviation (ddof 1) over seeds of the runs' scores; bold: the highest mean of its row, if none is "
    "missing."
    f"{THEIRS} {UNFILLED}: no table ever filled, so no strategy had anything to forget."
)


@dataclass(frozen=True)
class Block:
    """The cells of one agent in one environment, as a table has them."""

    evidence: Evidence
    env: str
    agent: str
    strategies: Sequence[str]
    sizes: Sequence[int]
    runs: Mapping[Cell, Sequence[str]] = field(default_factory=dict)  # ids, by cell

    def scores(self, strategy: str, size: int) -> Array | None:
        """Of the seeds, if all are there."""
        return self.evidence.scores(self.env, self.agent, strategy, size)

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
        there = [self.scores(name, size) for name in self.strategies]
        means = [float(scores.mean()) for scores in there if scores is not None]
        if len(means) < len(there) or max(means) == min(means):
            return ()
        return tuple(name for name, mean in zip(self.strategies, means, strict=True) if mean == max(means))

    @cached_property
    def digits(self) -> int:
        """After the point, the same in all cells."""
        scores = [each for cells in self.there().values() for each in cells.values()]
        return digits_for(np.concatenate(scores)) if scores else 0

    def beside_theirs(self, caption: str) -> Table:
        """Scores, with the paper's below where it prints any."""
        rows: list[list[str | Entry]] = []
        for size in self.sizes:
            best = self.best(size) if self.filled(size) else ()
            cells = [self._entry(name, size, bold=name in best) for name in self.strategies]
            rows.append([f"{size:,}", *cells])
        return Table(["entries per action", *self.strategies], rows, caption)

    def _entry(self, strategy: str, size: int, *, bold: bool) -> Entry:
        cell = Cell(self.env, self.agent, strategy, size)
        scores, runs, filled = self.scores(strategy, size), self.runs.get(cell, ()), self.filled(size)
        return entry(scores, cell, runs, bold=bold, filled=filled, digits=self.digits)

    def intervals(self, caption: str) -> Table:
        """Interquartile means with stratified bootstrap intervals."""
        rows = []
        for size in self.sizes:
            cells = []
            for name in self.strategies:
                scores = self.scores(name, size)
                cells.append("missing" if scores is None else interval_text(robust_mean([scores]), self.digits))
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


def entry(
    scores: Array | None,
    cell: Cell,
    runs: Sequence[str],
    *,
    bold: bool = False,
    filled: bool = True,
    digits: int | None = None,
) -> Entry:
    """A cell: ours, and below it theirs."""
    paper, rerun = PAPER.get(cell), RERUN.get(cell)
    below = [f"{name}{score.mean:g} ± {score.std:g}" for name, score in (("", paper), ("rerun ", rerun)) if score]
    hint = "runs: " + ", ".join(runs) if runs else ""
    if scores is None:
        return Entry("missing", below, dim=True, hint=hint)
    mark = differs(scores, paper) + ("" if filled else UNFILLED)
    return Entry(score_text(scores, digits), below, bold, not filled, hint, mark)


def differs(scores: Array, theirs: Score | None) -> str:
    """A mark, if ours and theirs are further apart than chance between seeds explains."""
    if theirs is None or len(scores) < 2:
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
