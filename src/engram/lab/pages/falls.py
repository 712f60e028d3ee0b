"""Strategies whose return falls while training goes on: a collapse that a score at the end does not show."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from engram.agents import label_of
from engram.lab.labels import strategy_label
from engram.lab.pages.block import Block
from engram.lab.pages.numbers import score_number
from engram.lab.pages.wording import counted, listed
from engram.lab.ranking import together
from engram.lab.statistics import Interval, total, weighted_terms
from engram.typing import Array

FEWEST_EVALUATIONS = 6  # of a run, so that each sixth of it has one


class Fall(NamedTuple):
    """How the return of a strategy changes from the third sixth of training to the last."""

    strategy: str
    early: float  # mean return from a third to half of training
    late: float  # in its last sixth
    change: Interval  # over runs, all strategies together at 95 %
    runs: int


def falls(block: Block) -> list[Fall]:
    """The strategies whose return falls by more than chance explains, in the mean over sizes at which tables filled."""
    found = []
    for strategy in block.strategies:
        cells = [block.cell(strategy, size) for size in block.filled_sizes if size in block.complete.get(strategy, ())]
        runs = [[_early_and_late(*curve) for _, curve in sorted(block.evidence.curves[cell].items())] for cell in cells]
        if not runs or any(each is None for cell in runs for each in cell):
            continue
        windows = [np.array(cell, np.float64) for cell in runs]  # of each size [seeds, early and late]
        # runs of one seed at several sizes are not independent, so their changes are averaged by seed
        changes = weighted_terms((1 / len(windows), each[:, 1] - each[:, 0]) for each in windows)
        change = total(changes, level=together(len(block.strategies)))
        if change.below(0):
            early, late = np.mean([each.mean(axis=0) for each in windows], axis=0).tolist()
            found.append(Fall(strategy, early, late, change, sum(map(len, windows))))
    return found


def _early_and_late(steps: Array, returns: Array) -> tuple[float, float] | None:
    """The mean return from a third to half of training, and in its last sixth."""
    if len(steps) < FEWEST_EVALUATIONS:
        return None
    early, late = (returns[sixth] for sixth in _sixths(steps))
    return (float(early.mean()), float(late.mean())) if len(early) and len(late) else None


def _sixths(steps: Array) -> tuple[Array, Array]:
    """Which evaluations are in the third sixth of training, and which in the last."""
    total = steps[-1]
    return (steps >= total / 3) & (steps < total / 2), steps > total * 5 / 6


def _windows(block: Block) -> str:
    """The steps of the evaluations that are compared."""
    cells = [block.cell(name, size) for name in block.strategies for size in block.filled_sizes]
    steps, _ = next(curve for cell in cells for curve in block.evidence.curves.get(cell, {}).values())
    early, late = _sixths(steps)
    return f"from steps {steps[early][0]:,}–{steps[early][-1]:,} to {steps[late][0]:,}–{steps[late][-1]:,}"


def falls_in_words(blocks: Sequence[Block]) -> str:
    """A sentence on the strategies whose return falls, for blocks of one environment; empty if none does."""
    parts = []
    for block in blocks:
        found = falls(block)
        if not found:
            continue
        changes = [
            f"{strategy_label(each.strategy)} from {score_number(each.early, block.digits)} to "
            f"{score_number(each.late, block.digits)}"
            for each in found
        ]
        sizes = len(block.filled_sizes)
        mean = f"mean over {counted(sizes, 'size')}, " if sizes > 1 else ""
        over = f"{mean}{found[0].runs} runs each"
        parts.append(f"with {label_of(block.agent)}, {_windows(block)}, {listed(changes)} ({over})")
    if not parts:
        return ""
    return f"Returns fall while training goes on, by more than chance explains: {'; '.join(parts)}."
