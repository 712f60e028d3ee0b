"""What the scores of a few seeds say, and what they do not."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

MOST_DIVISIONS = 20_000  # all are tried up to this many; beyond it, so many at random
LEVEL = 0.05  # below it, a difference is called one


@dataclass(frozen=True)
class Scores:
    """The scores of one strategy, one per seed."""

    label: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over seeds."""
        return float(np.mean(self.values))

    @property
    def std(self) -> float:
        """Standard deviation over seeds (ddof 1); not a number for a single seed."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else float("nan")

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.std:.1f}" if len(self.values) > 1 else f"{self.mean:.1f}"


def permutation_test(a: Sequence[float], b: Sequence[float]) -> float:
    """How often dividing the same scores at random gives means at least as far apart: the two-sided p."""
    pooled = np.array([*a, *b], np.float64)
    observed = abs(np.mean(a) - np.mean(b)) - 1e-9 * np.ptp(pooled)  # rounding must not undo a tie
    if comb(len(pooled), len(a)) <= MOST_DIVISIONS:
        first = np.array(list(combinations(range(len(pooled)), len(a))))
        sums, extra = pooled[first].sum(axis=1), 0
    else:
        rng = np.random.default_rng(0)
        shuffled = rng.permuted(np.tile(pooled, (MOST_DIVISIONS, 1)), axis=1)
        sums, extra = shuffled[:, : len(a)].sum(axis=1), 1
    gaps = np.abs(sums / len(a) - (pooled.sum() - sums) / len(b))
    return float((np.count_nonzero(gaps >= observed) + extra) / (len(gaps) + extra))


def in_words(scores: Sequence[Scores]) -> list[str]:
    """Who scored highest, and whether so few seeds can tell."""
    best, *others = sorted(scores, key=lambda each: -each.mean)
    seeds = len(best.values)
    if seeds == 1:
        ranked = ", ".join(f"{each.label} ({each.mean:.1f})" for each in (best, *others))
        return [
            f"From highest to lowest score: {ranked}.",
            "With one seed each, this order may be chance alone.",
        ]
    said = [
        f"{best.label} has the highest mean score: {best.mean:.1f} over {seeds} seeds "
        f"(lowest {min(best.values):.1f}, highest {max(best.values):.1f})."
    ]
    clear: list[str] = []
    unsettled: list[str] = []
    for each in others:
        p = permutation_test(best.values, each.values)
        gap = f"{best.mean - each.mean:.1f} above {each.label} (p = {p:.2g})"
        (clear if p < LEVEL else unsettled).append(gap)
    if clear:
        said.append(f"It lies {_listed(clear)}: more than chance between seeds explains.")
    if unsettled:
        said.append(f"It lies {_listed(unsettled)}: {seeds} seeds do not settle that order.")
    return [*said, "(p: two-sided permutation test of the scores, not corrected for several comparisons.)"]


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
