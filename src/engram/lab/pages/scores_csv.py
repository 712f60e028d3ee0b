"""The cells of a study as CSV: one line each, with the runs behind it."""

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from math import isfinite

from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.pages.score_tables import differs
from engram.lab.reference import Reference
from engram.lab.statistics import interquartile_interval

OURS = (
    *("env", "agent", "strategy", "capacity", "steps", "seeds"),
    *("mean", "std", "iqm", "iqm_low", "iqm_high", "filled"),
)


def scores_csv(evidence: Evidence, runs: Mapping[Cell, Sequence[str]], references: Sequence[Reference] = ()) -> str:
    """The cells of which no run is missing, with the published scores of each reference."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    published = [f"{reference.key}_{number}" for reference in references for number in ("mean", "std")]
    writer.writerow([*OURS, *published, *(["differs"] if references else []), "runs"])
    for cell, ids in runs.items():
        scores = evidence.scores(*cell)
        if scores is None:
            continue
        steps, robust = evidence.steps[cell], interquartile_interval([scores])
        std = scores.std(ddof=1) if len(scores) > 1 else None
        numbers = (scores.mean(), std, robust.estimate, robust.low, robust.high)
        theirs = [reference.scores.get(cell) for reference in references]
        writer.writerow(
            [
                *(*cell, " ".join(map(str, steps)), len(scores)),
                *("" if number is None or not isfinite(number) else f"{number:.4f}" for number in numbers),
                "" if cell.capacity is None else evidence.filled(cell.env, cell.agent, cell.capacity),
                *(number for score in theirs for number in (("", "") if score is None else (score.mean, score.std))),
                *([differs(scores, theirs[0], steps)] if references else []),
                " ".join(ids),
            ]
        )
    return text.getvalue()
