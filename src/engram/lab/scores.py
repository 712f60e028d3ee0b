"""A comparison of strategies over a few seeds, in sentences that say what chance alone may explain."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engram.lab.statistics import permutation_test

LEVEL = 0.05  # below it, a difference is called one


@dataclass(frozen=True)
class Scores:
    """The scores of one strategy, one per seed."""

    label: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(np.mean(self.values))

    @property
    def std(self) -> float:
        """Standard deviation over seeds (ddof 1); not a number for a single seed."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else float("nan")

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.std:.1f}" if len(self.values) > 1 else f"{self.mean:.1f}"


def in_words(scores: Sequence[Scores]) -> list[str]:
    """Which strategy scored highest, and whether so few seeds settle that."""
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
