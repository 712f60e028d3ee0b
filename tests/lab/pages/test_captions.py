"""What captions of figures over memory sizes say, of the strategies that are drawn."""

from pathlib import Path
from tempfile import TemporaryDirectory

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages import page
from engram.lab.pages.captions import highest_in_words, needed_in_words
from engram.lab.pages.study_page import StudyReport
from tests.lab.pages.synthetic import declare, results, spread_out

MANY = ("lru", "kmeans", "dkm", "dkm:decay=0.1", "fading", "fading:lifetime=20")
FEW = "Of six strategies, four are shown and compared here."
ENVS = ("CartPole-v1", "Acrobot-v1")


def report(folder: Path) -> StudyReport:
    """Fading is highest but in one place; there Fading with a lifetime of 20 is, which is not shown, and then LRU."""

    def mean(cell: Cell) -> float:
        there = cell.env == "Acrobot-v1" and cell.agent == "nec"
        lru = (280.0 if there else 100.0) + (cell.capacity == 500)
        slow = 300.0 if there else 240.0
        return {"fading:lifetime=20": slow, "fading": 250.0, "lru": lru}.get(str(cell.strategy), 90.0)

    grids = tuple(Grid(agent, env, 1_000, range(3), MANY, (50, 500)) for env in ENVS for agent in ("mfec", "nec"))
    study = Study("mine", "Mine", grids)
    return StudyReport(results(study, spread_out(mean, 2.0), places=declare(study, folder)), folder, study)


def test_a_caption_names_what_its_figure_draws_and_no_other(tmp_path: Path) -> None:
    few, folded = report(tmp_path).figures.by_size()
    assert isinstance(few, page.Drawing)
    assert few.alt == (
        f"{FEW} In three of four panels Fading most often has the highest mean, of the sizes at which tables filled; "
        "LRU in one."
    )
    assert not any("lifetime" in svg for svg in few.svgs)
    assert isinstance(folded, page.Folded)
    (every,) = folded.blocks
    assert isinstance(every, page.Drawing)
    assert every.alt == (
        "In three of four panels Fading most often has the highest mean, of the sizes at which tables filled; Fading "
        "(lifetime 20) in one."
    )
    assert "Fading (lifetime 20)" in {key.name for key in every.legend}


def test_the_memory_that_is_needed_is_told_of_what_is_drawn(tmp_path: Path) -> None:
    few, folded = report(tmp_path).figures.needed()
    assert isinstance(few, page.Drawing)
    assert "Fading 50" in few.alt
    assert "lifetime" not in few.alt
    assert isinstance(folded, page.Folded)
    (every,) = folded.blocks
    assert isinstance(every, page.Drawing)
    assert "Fading (lifetime 20) 50" in every.alt


def test_where_nobody_leads_alone_that_is_said(tmp_path: Path) -> None:
    grids = tuple(
        Grid(agent, env, 1_000, range(3), ("lru", "dkm"), (50, 500)) for env in ENVS for agent in ("mfec", "nec")
    )
    study = Study("mine", "Mine", grids)

    def mean(cell: Cell) -> float:
        return 100.0 + 10.0 * ((cell.strategy == "lru") == (cell.capacity == 50))

    shown = StudyReport(results(study, spread_out(mean, 2.0), places=declare(study, tmp_path)), tmp_path, study)
    blocks = {str(number): block for number, block in enumerate(shown.every_block)}
    assert highest_in_words(blocks) == "In none of four panels has one strategy alone the highest mean most often."


def test_the_memory_that_is_needed_is_a_whole_number_that_is_enough() -> None:
    """DkM reaches what LRU has with 3 entries at 1.32, and kM at 2.6, which is no less once it is whole."""
    scores = {
        "lru": {1: 0.0, 2: 5.0, 3: 10.0},
        "dkm": {1: 6.0, 2: 16.0, 3: 16.0},
        "kmeans": {1: 0.0, 2: 0.0, 3: 15.0},
        "sur": {1: 0.0, 2: 10.0, 3: 10.0},
    }
    study = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 1_000, range(3), tuple(scores), (1, 2, 3)),))
    with TemporaryDirectory() as folder:
        places = declare(study, Path(folder))
    found = results(study, spread_out(lambda cell: scores[str(cell.strategy)][cell.capacity or 0]), places=places)
    (block,) = StudyReport(found, Path()).every_block
    assert "with 3 entries, DkM 2 and SUR 2 are enough" in needed_in_words("MFEC", block)


def test_of_one_size_it_is_not_said_how_many(tmp_path: Path) -> None:
    study = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 1_000, range(3), ("lru", "dkm"), (50, 500)),))
    found = results(
        *(study, spread_out(lambda cell: 90.0 + 10 * (cell.strategy == "dkm"), 1.0)),
        places=declare(study, tmp_path),
        filled=lambda cell: cell.capacity == 50,
    )
    (block,) = StudyReport(found, tmp_path).every_block
    assert highest_in_words({"MFEC": block}) == (
        "With MFEC DkM has the highest mean at the one size at which tables filled."
    )
