"""The cells of a study as CSV: one line each, with the runs that it is made of."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO

from engram.lab.evidence import Cell, Evidence
from engram.lab.pages.tables import differs, robust_mean
from engram.paper.published import PAPER

HEADER = (
    *("env", "agent", "strategy", "capacity", "steps", "seeds"),
    *("mean", "std", "iqm", "iqm_low", "iqm_high", "filled"),
    *("paper_mean", "paper_std", "differs", "runs"),
)


def scores_csv(evidence: Evidence, runs: Mapping[Cell, Sequence[str]]) -> str:
    """The cells whose runs are all there."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for cell, ids in runs.items():
        scores = evidence.scores(*cell)
        if scores is None:
            continue
        steps, theirs, robust = evidence.steps[cell], PAPER.get(cell), robust_mean([scores])
        assert robust is not None
        std = scores.std(ddof=1) if len(scores) > 1 else None
        numbers = (scores.mean(), std, robust.estimate, robust.low, robust.high)
        writer.writerow(
            [
                *(*cell, " ".join(map(str, steps)), len(scores)),
                *("" if number is None else f"{number:.4f}" for number in numbers),
                "" if cell.capacity is None else evidence.filled(cell.env, cell.agent, cell.capacity),
                *(("", "", "") if theirs is None else (theirs.mean, theirs.std, differs(scores, theirs, steps))),
                " ".join(ids),
            ]
        )
    return text.getvalue()
