"""Returns of training episodes, which explore, beside the greedy ones of evaluations."""

from collections.abc import Iterable

import numpy as np

from engram.lab.dataframes import pl
from engram.lab.pages.block import Block
from engram.lab.pages.numbers import score_text
from engram.lab.pages.page import Entry, Table
from engram.lab.pages.score_tables import absence
from engram.lab.pages.wording import seeds_in_words
from engram.runs.finished import LAST_EVALUATIONS
from engram.typing import Array

WHAT = "mean return of training episodes (ε-greedy) over the same time as the score"


def training_returns(evaluations: pl.DataFrame, runs: Iterable[str]) -> Array:
    """For each run the mean return of the episodes of training that ended during its last evaluations.

    Evaluations are apart by steps, so the episodes between two of them are many or few; each episode counts the same.
    Runs without such an episode are left out.
    """
    means = []
    for run in runs:
        last = evaluations.filter(pl.col("run") == run).sort("step").tail(LAST_EVALUATIONS)
        there = last.drop_nulls("training_return")
        counts = there["training_episodes"].to_numpy()
        if counts.sum():
            means.append(float(there["training_return"].to_numpy() @ counts / counts.sum()))
    return np.array(means)


def training_text(evaluations: pl.DataFrame, runs: Iterable[str], digits: int) -> str:
    """Mean ± standard deviation over runs of the returns of their training episodes."""
    means = training_returns(evaluations, runs)
    return score_text(means, digits) if len(means) else "–"


def training_table(evaluations: pl.DataFrame, block: Block, name: str) -> Table:
    """A row for each size: training returns, and below them the score, by strategy."""
    rows: list[list[str | Entry]] = []
    for size in block.sizes:
        row: list[str | Entry] = [f"{size:,}"]
        for strategy in block.strategies:
            cell, scores = block.cell(strategy, size), block.scores(strategy, size)
            if scores is None:
                row.append(absence(block.evidence, cell))
            else:
                text = training_text(evaluations, block.runs.get(cell, ()), block.digits)
                row.append(Entry(text, [score_text(scores, block.digits)]))
        rows.append(row)
    caption = f"{name}: {WHAT}, and below it the score, {seeds_in_words(block.seeds)}"
    return Table(["entries per action", *block.labels], rows, caption)
