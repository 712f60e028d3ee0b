"""Reads the tables that Agostinelli et al. 2019 print, given as rows of text.

Mean and standard deviation over seeds; the paper has 5 (Atari: 3), a rerun of the code that its authors published 3.
The paper prints no tables for the rooms.
"""

from collections.abc import Mapping, Sequence

from engram.lab.cell import Cell
from engram.lab.reference import Reference, Score
from engram.paper.grids import FIVE

PAPER_SEEDS, ATARI_SEEDS, RERUN_SEEDS = 5, 3, 3
Steps = Mapping[str, int]  # of training, by agent


def paper(scores: Mapping[Cell, Score]) -> Reference:
    """Scores that the paper prints."""
    return Reference("paper", "the paper", scores)


def score(text: str, seeds: int, steps: int) -> Score:
    """A score as printed, `96±21`; no deviation is printed where every seed scored the same."""
    mean, _, std = text.partition("±")
    return Score(float(mean), float(std or 0), seeds, steps)


def classic_control(env: str, rows: Mapping[int, str], d3qn: str, steps: Steps) -> Reference:
    """Table 1 or 2: for each size a row with MFEC's five strategies, then NEC's; and D3QN's score."""
    found = {Cell(env, "d3qn", None, None): score(d3qn, PAPER_SEEDS, steps["d3qn"])}
    for size, row in rows.items():
        cells = [Cell(env, agent, name, size) for agent in ("mfec", "nec") for name in FIVE]
        found |= _row(row, cells, PAPER_SEEDS, steps)
    return paper(found)


def rerun(env: str, rows: Mapping[tuple[str, int], str], steps: Steps, strategies: Sequence[str] = FIVE) -> Reference:
    """Scores of the authors' code, run again with the paper's settings: for each agent and size a row of strategies."""
    found: dict[Cell, Score] = {}
    for (agent, size), row in rows.items():
        found |= _row(row, [Cell(env, agent, name, size) for name in strategies], RERUN_SEEDS, steps)
    return Reference("rerun", "a rerun of its authors' code", found, prefix="rerun ")


def _row(row: str, cells: Sequence[Cell], seeds: int, steps: Steps) -> dict[Cell, Score]:
    """The scores of a row, in the order of the cells."""
    return {cell: score(text, seeds, steps[cell.agent]) for cell, text in zip(cells, row.split(), strict=True)}
