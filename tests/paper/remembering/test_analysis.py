"""The report on remembering: Adaptive beside the best of its rivals, cell by cell, by the rule of non-inferiority."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from engram.lab.cell import Cell
from engram.lab.noninferiority import GOOD, OPEN, WORSE
from engram.lab.pages import page
from engram.paper.registry import STUDIES
from engram.paper.remembering.analysis import RememberingReport
from engram.paper.remembering.sweep import RIVALS
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader

STUDY = STUDIES["remembering"].only(sizes=(50, 500, 3000), seeds=tuple(range(10, 20)))
STUDY = replace(STUDY, grids=STUDY.grids[:1])  # MFEC on CartPole
MEANS = {"lru": 60.0, "kmeans": 200.0, "dkm": 110.0, "fading": 220.0}
SHIFTS = {50: 0.0, 500: -25.0, 3000: -60.0}  # of Adaptive from the best rival


def score(cell: Cell, seed: int) -> float:
    mean = MEANS.get(str(cell.strategy), MEANS["fading"] + SHIFTS.get(int(cell.capacity or 0), 0.0))
    return mean + 15 * (seed % 5 - 2)


def report(folder: Path, **options: Any) -> RememberingReport:
    return RememberingReport(results(STUDY, score, places=declare(STUDY, folder), **options), folder, STUDY)


def test_each_cell_gets_its_word_and_the_finding_counts_them(tmp_path: Path) -> None:
    found = report(tmp_path)
    assert {each.place.size: each.word for each in found.compared} == {50: GOOD, 500: OPEN, 3000: WORSE}
    assert [each.comparison.closest.rival for each in found.compared] == ["fading"] * 3
    assert found.found.headline == (
        "Adaptive (states where they come back, otherwise clusters that fade) is not everywhere at least as good as "
        "the best of LRU, kM, DkM and Fading: of three cells (an environment, an agent and a size) in one, where 1 "
        "would do; it is better than one of them in one, and worse in one."
    )
    assert found.found.details == [
        "Worse than at least one of them: CartPole, MFEC, 3,000.",
        "Neither shown to be as good nor to be worse: CartPole, MFEC, 500.",
    ]


def test_the_table_has_a_row_for_each_cell(tmp_path: Path) -> None:
    text = page.Page("", report(tmp_path).claims()).html()
    (header, *rows) = Reader(text).tables[""]
    assert header[-1] == "is"
    assert [(row[0], row[2], row[-1]) for row in rows] == [
        ("CartPole, MFEC, 50", "Fading", GOOD),
        ("CartPole, MFEC, 500", "Fading", OPEN),
        ("CartPole, MFEC, 3,000", "Fading", WORSE),
    ]
    assert [row[4] for row in rows] == ["0", "−25", "−60"]


def test_cells_that_never_filled_or_lack_runs_do_not_count(tmp_path: Path) -> None:
    unfilled = report(tmp_path / "a", filled=lambda cell: cell.capacity != 3000)
    assert [each.place.size for each in unfilled.compared] == [50, 500]
    lost = report(tmp_path / "b", without=lambda place: place["capacity"] == 50 and place["seed"] == 11)
    assert [each.place.size for each in lost.compared] == [500, 3000]
    nothing = report(tmp_path / "c", filled=lambda cell: False)
    assert nothing.found.headline.startswith("No cell has enough runs")
    assert nothing.claims() == []


def test_no_seed_of_the_confirmation_was_used_to_choose() -> None:
    seeds = {seed for grid in STUDIES["remembering"].grids for seed in grid.seeds}
    assert min(seeds) >= 10
    assert {tuple(grid.strategies) for grid in STUDIES["remembering"].grids} == {(*RIVALS, "adaptive")}


def test_runs_of_the_papers_tables_and_of_atari_100k_serve_here_too() -> None:
    ours = {run.id for run in STUDIES["remembering"].runs()}
    for name, share in (("cartpole", 720), ("acrobot", 540), ("openroom", 720), ("atari100k", 30)):
        theirs = {run.id for run in STUDIES[name].runs()}
        assert len(ours & theirs) == share, name  # LRU, kM and DkM at every size; on Atari the baseline's memory


def test_off_atari_every_cell_has_twenty_seeds() -> None:
    seeds = {grid.env: len(grid.seeds) for grid in STUDIES["remembering"].grids}
    assert sorted(seeds.values()) == [5] * 6 + [20] * 4
