"""Curves that fall, and panels in which nothing can be seen."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages.curve_panels import CurvePanels
from engram.lab.pages.falls import falls, falls_in_words
from engram.lab.pages.page import Drawing
from engram.lab.pages.study_page import StudyReport
from engram.lab.statistics import mean_interval
from tests.lab.pages.synthetic import declare, line, results, spread_out

STEPS = tuple(range(500, 15_500, 500))
STUDY = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 15_000, range(5), ("lru", "dkm"), (10, 50, 500, 5_000)),))


def curve(cell: Cell, seed: int, score: float) -> tuple[tuple[int, ...], list[float]]:
    """LRU falls from 300 to 100 as training goes on, DkM stays; nothing is learnt with ten entries."""
    if cell.capacity == 10:
        return STEPS, [0.0] * len(STEPS)
    last = 100.0 if cell.strategy == "lru" and cell.capacity != 5_000 else 300.0
    return STEPS, (line(300.0, last, steps=STEPS) + score).tolist()


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> StudyReport:
    folder = tmp_path_factory.mktemp("study")
    found = results(
        *(STUDY, spread_out(0.0, 2.0)),
        places=declare(STUDY, folder),
        curve=curve,
        filled=lambda cell: cell.capacity != 5_000,
    )
    return StudyReport(found, folder, STUDY)


def test_only_what_falls_is_said_to_fall(report: StudyReport) -> None:
    (block,) = report.every_block
    (fall,) = falls(block)
    early, late = (np.mean([line(300, 100, steps=STEPS)[i] for i in part]) for part in (range(9, 14), range(25, 30)))
    assert fall.strategy == "lru"
    assert fall.early == pytest.approx(early * 2 / 3)  # over three sizes, of which one has nothing but 0
    assert fall.late == pytest.approx(late * 2 / 3)
    assert fall.runs == 15
    assert falls_in_words([block]).startswith(
        "Returns fall while training goes on, by more than chance explains: with MFEC, from steps 5,000–7,000 to "
        f"13,000–15,000, LRU from {fall.early:.1f} to {fall.late:.1f} (mean over three sizes, 15 runs each)"
    )
    assert any(
        "Returns fall" in text
        for text in (block.caption for block in report.figures.curves() if isinstance(block, Drawing))
    )


def test_runs_of_one_seed_at_several_sizes_do_not_count_as_many(tmp_path: Path) -> None:
    """Each seed falls, or rises, alike at all three sizes: five numbers, not fifteen."""

    def alike(cell: Cell, seed: int, score: float) -> tuple[tuple[int, ...], list[float]]:
        return STEPS, line(300.0, 300.0 - 40 * (seed - 1), steps=STEPS).tolist()

    study = replace(STUDY, grids=tuple(replace(grid, sizes=(50, 100, 500)) for grid in STUDY.grids))
    found = results(study, spread_out(0.0, 2.0), places=declare(study, tmp_path), curve=alike)
    (block,) = StudyReport(found, tmp_path, study).every_block
    changes = [-40.0 * (seed - 1) for seed in range(5)]
    assert mean_interval(changes * 3, level=0.975).below(0)  # what pooling them would say
    assert not mean_interval(changes, level=0.975).below(0)
    assert falls(block) == []


def test_what_cannot_be_seen_is_one_panel_that_says_why(report: StudyReport) -> None:
    (block,) = report.every_block
    panels = CurvePanels(block).every()
    assert [panel.title for panel in panels] == [
        "10 entries, n = 5",
        "50 entries, n = 5",
        "500 entries, n = 5",
        "5,000 entries, n = 5",
    ]
    assert [panel.note.replace("\n", " ") for panel in (panels[0], panels[3])] == [
        "every return is 0, whatever the strategy",
        "no table filled: all strategies are the same",
    ]
    assert [len(panel.curves) for panel in panels] == [0, 2, 2, 1]
