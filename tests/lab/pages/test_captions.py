"""What captions of figures over memory sizes say, of the strategies that are drawn."""

from pathlib import Path

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages import page
from engram.lab.pages.captions import highest_in_words
from engram.lab.pages.study_page import StudyReport
from tests.lab.pages.synthetic import declare, results, spread_out

MANY = ("lru", "kmeans", "dkm", "dkm:decay=0.1", "fading", "fading:lifetime=20")
ENVS = ("CartPole-v1", "Acrobot-v1")


def report(folder: Path) -> StudyReport:
    """Fading with a lifetime of 20, which the first figures do not show, is highest everywhere; then Fading, or LRU."""

    def mean(cell: Cell) -> float:
        lru = (280.0 if cell.env == "Acrobot-v1" and cell.agent == "nec" else 100.0) + (cell.capacity == 500)
        return {"fading:lifetime=20": 300.0, "fading": 250.0, "lru": lru}.get(str(cell.strategy), 90.0)

    grids = tuple(Grid(agent, env, 1_000, range(3), MANY, (50, 500)) for env in ENVS for agent in ("mfec", "nec"))
    study = Study("mine", "Mine", grids)
    return StudyReport(results(study, spread_out(mean, 2.0), places=declare(study, folder)), folder, study)


def test_a_caption_names_what_its_figure_draws_and_no_other(tmp_path: Path) -> None:
    few, folded = report(tmp_path).figures.by_size()
    assert isinstance(few, page.Drawing)
    assert few.alt == (
        "In three of four panels Fading most often has the highest mean, of the sizes at which tables filled; LRU in "
        "one."
    )
    assert not any("lifetime" in svg for svg in few.svgs)
    assert isinstance(folded, page.Folded)
    (every,) = folded.blocks
    assert isinstance(every, page.Drawing)
    assert every.alt == (
        "In all four panels Fading (lifetime 20) most often has the highest mean, of the sizes at which tables filled."
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
