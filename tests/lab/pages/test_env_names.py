"""Environments that share a short name: each has a name, figures and rows of its own on a page."""

from pathlib import Path

import pytest

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages.study_page import StudyReport
from tests.lab.pages.synthetic import declare, results, spread_out
from tests.lab.pages.test_study_page import Reader

MEANS = {"CartPole-v1": 100.0, "CartPole-v0": 60.0, "CartPole-v1?max_episode_steps=30": 20.0}
NAMES = ["CartPole-v1", "CartPole-v0", "CartPole-v1 (max_episode_steps=30)"]
STEMS = ["cartpole-v1", "cartpole-v0", "cartpole-v1-max_episode_steps-30"]


def report(folder: Path, sizes: tuple[int, ...] = (20, 50)) -> StudyReport:
    grids = [Grid("mfec", env, 1_000, range(5), ("lru", "dkm"), sizes) for env in MEANS]
    grids += [
        Grid("mfec", env, 1_000, range(5), ("lru",), sizes, variant="more", settings={"neighbours": 3}) for env in MEANS
    ]
    study = Study("mine", "Mine", tuple(grids))

    def mean(cell: Cell) -> float:
        return MEANS[cell.env] + 10.0 * (cell.strategy == "dkm")

    return StudyReport(results(study, spread_out(mean, 1.0), places=declare(study, folder)), folder, study)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(tmp_path_factory.mktemp("study")).write().parent


def test_sentences_and_tables_name_each(written: Path) -> None:
    reader = Reader((written / "index.html").read_text())
    assert f"In {NAMES[0]}, {NAMES[1]} and {NAMES[2]}, DkM (dynamic k-means) scores above LRU." in reader.text
    table = reader.tables["MFEC after 1,000 training steps, n = 5"]
    assert [row[0] for row in table if len(row) == 1] == NAMES
    assert f"; with {NAMES[2]}, MFEC DkM has the highest mean at two of two sizes" in reader.text
    assert all(f"{name}, MFEC, LRU, 20" in reader.text for name in NAMES)


def test_each_has_figures_and_curves_of_its_own(written: Path) -> None:
    stems = {path.stem for path in (written / "figures").glob("*.png")}
    assert {f"{stem}-curves" for stem in STEMS} <= stems
    by_size = (written / "figures" / "score-by-size.svg").read_text()
    assert all(f">{name}, MFEC, n = 5<" in by_size for name in NAMES[:2])
    variants = (written / "figures" / "variants.svg").read_text()
    assert all(f">{name}, MFEC, {size}: ● LRU<" in variants for name in NAMES for size in (20, 50))


def test_at_one_size_each_has_a_panel_with_its_name(tmp_path: Path) -> None:
    report(tmp_path, sizes=(20,)).figures.curves()
    drawn = (tmp_path / "figures" / "curves.svg").read_text()
    assert ">CartPole-v1, n = 5<" in drawn
    assert ">CartPole-v1 (max_episode_steps=30),<" in drawn, "which goes on in the next line"
