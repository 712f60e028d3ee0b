"""What captions of learning curves say: who ends highest, and whose return falls."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages import page
from engram.lab.pages.curve_captions import curves_in_words, curves_of_envs_in_words, dips_in_words, ends_in_words
from engram.lab.pages.study_page import StudyReport
from engram.paper.grids import FIVE
from tests.lab.pages.synthetic import declare, results, spread_out

STEPS = tuple(range(500, 6_500, 500))


def report(
    folder: Path,
    mean: Callable[[Cell], float],
    *,
    seeds: int = 5,
    envs: Sequence[str] = ("CartPole-v1",),
    sizes: Sequence[int] = (50, 500),
    shape: Sequence[float] = (1.0,) * len(STEPS),
) -> StudyReport:
    """Of strategies whose returns have a shape over time, in shares of the score."""
    grids = tuple(Grid("mfec", env, 6_000, range(seeds), ("lru", "kmeans", "dkm"), sizes) for env in envs)
    study = Study("mine", "Mine", grids)
    found = results(
        *(study, spread_out(mean, 4.0)),
        curve=lambda cell, seed, score: (STEPS, (score * np.array(shape)).tolist()),
        places=declare(study, folder),
    )
    return StudyReport(found, folder, study)


def test_who_ends_highest_is_told_with_the_size_at_which_that_is_clearest(tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        return {"kmeans": 200.0, "dkm": 150.0}.get(str(cell.strategy), 60.0 if cell.capacity == 50 else 100.0)

    said = curves_in_words(report(tmp_path, mean).every_block)
    assert said == (
        "With MFEC kM ends above all others beyond chance at 50 and 500 entries (at 50 with 200, DkM, the next, with "
        "150)."
    )


def test_those_that_chance_does_not_tell_from_the_highest_are_not_said_to_be_above_the_rest(tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        if cell.capacity == 500:
            return 100.0
        return {"lru": 100.0, "dkm": 198.0}.get(str(cell.strategy), 200.0)

    said = curves_in_words(report(tmp_path, mean).every_block)
    assert said == "With MFEC kM ends highest at 50 entries, above LRU beyond chance; DkM is not told from it."
    level = curves_in_words(
        report(tmp_path / "level", lambda cell: 100.0 + 100.0 * (cell.strategy != "lru")).every_block
    )
    assert (
        level == "With MFEC kM and DkM end highest at 50 and 500 entries, with the same mean, above LRU beyond chance."
    )
    alike = curves_in_words(report(tmp_path / "alike", lambda cell: 100.0).every_block)
    assert alike == "With MFEC no strategy can be told from the one that ends highest, at any size."


def test_one_that_lies_below_is_told_also_where_too_few_do_for_a_winner(tmp_path: Path) -> None:
    """In tables nothing is bold unless half of the others lie below; that does not mean that nobody does."""

    def mean(cell: Cell) -> float:
        return {"lru": 60.0, "kmeans": 200.0, "dkm": 199.0, "rew": 198.0, "sur": 197.0}[str(cell.strategy)]

    study = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 6_000, range(5), FIVE, (50,)),))
    found = results(study, spread_out(mean, 4.0), places=declare(study, tmp_path))
    (block,) = StudyReport(found, tmp_path, study).every_block
    assert block.best(50) == ()
    assert ends_in_words([block]) == (
        "With MFEC kM ends highest, above LRU beyond chance; REW, SUR and DkM are not told from it."
    )


def test_of_sizes_that_are_not_drawn_it_is_not_said_who_ends_highest(tmp_path: Path) -> None:
    def mean(cell: Cell) -> float:
        return 200.0 if cell.strategy == "dkm" and cell.capacity == 500 else 100.0

    blocks = report(tmp_path, mean).every_block
    assert "DkM ends above all others" in curves_in_words(blocks)
    assert "DkM" not in curves_in_words(blocks, {"mfec": [50]})


def test_of_two_seeds_nothing_is_told_but_returns_that_fall_back_in_both(tmp_path: Path) -> None:
    envs, shape = ("CartPole-v1", "Acrobot-v1"), (0.2, 0.5, 1.0, 1.0, 0.9, 0.9, 0.8, 0.8, 0.6, 0.4, 0.3, 0.1)
    shown = report(tmp_path, lambda cell: 100.0, seeds=2, envs=envs, sizes=(50,), shape=shape)
    said = curves_of_envs_in_words(shown.every_block)
    alike = "CartPole and Acrobot: With MFEC no strategy can be told from another (n = 2). CartPole: Mean returns fall"
    assert said.startswith(alike)
    assert "with MFEC LRU from 99 at 1,500 steps to 20, kM from" in said
    (drawing,) = shown.figures.curves()
    assert isinstance(drawing, page.Drawing)
    assert drawing.alt == said
    rising = report(tmp_path / "up", lambda cell: 100.0, seeds=2, sizes=(50,), shape=sorted(shape))
    assert dips_in_words(rising.every_block) == ""
    falling = report(tmp_path / "down", lambda cell: 100.0, seeds=2, sizes=(50,), shape=sorted(shape, reverse=True))
    assert dips_in_words(falling.every_block) == "", "what never rose does not fall back"
    late = (0.2, 0.4, 0.5, 0.6, 0.7, 0.7, 0.7, 0.6, 0.6, 0.5, 0.1, 1.0)
    last = report(tmp_path / "last", lambda cell: 100.0, seeds=2, sizes=(50,), shape=late)
    assert dips_in_words(last.every_block) == "", "a peak at the end is not fallen back from"
    one = report(tmp_path / "one", lambda cell: 100.0, seeds=1, sizes=(50,), shape=shape)
    assert dips_in_words(one.every_block) == "", "one run shows nothing of chance"


def test_every_environment_has_a_heading_where_there_are_several(tmp_path: Path) -> None:
    shown = report(tmp_path, lambda cell: 100.0, envs=("CartPole-v1", "Acrobot-v1"))
    html = page.Page("", shown.figures.curves()).html()
    assert "<h3>CartPole</h3>" in html
    assert "<h3>Acrobot</h3>" in html
    alone = report(tmp_path / "alone", lambda cell: 100.0)
    assert "<h3>" not in page.Page("", alone.figures.curves()).html()
