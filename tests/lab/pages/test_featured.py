"""Which of many strategies are shown first, and that all that is told of them says so."""

from collections.abc import Callable
from pathlib import Path

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages import page
from engram.lab.pages.markdown import markdown
from engram.lab.pages.study_page import StudyReport
from tests.lab.pages.synthetic import Places, declare, results, spread_out

BUILT_IN = ("lru", "rew", "sur", "kmeans", "dkm", "dkm:decay=0.1", "fading", "fading:lifetime=5")
USUAL = ["lru", "kmeans", "dkm", "fading"]


def report(
    folder: Path,
    mean: Callable[[Cell], float],
    *,
    envs: tuple[str, ...] = ("CartPole-v1",),
    strategies: tuple[str, ...] = BUILT_IN,
    own: str = "",  # by whose strategy SUR is replaced
) -> StudyReport:
    grids = tuple(Grid("mfec", env, 1_000, range(3), strategies, (50, 500)) for env in envs)
    study = Study("mine", "Mine", grids)
    places: Places = declare(study, folder)
    if own:
        for place in places.values():
            place["strategy"] = {"name": own} if place["strategy"]["name"] == "sur" else place["strategy"]
    return StudyReport(results(study, spread_out(mean, 1.0), places=places), folder, study)


def highest(name: str) -> Callable[[Cell], float]:
    return lambda cell: 150.0 if cell.strategy == name else 100.0


def test_the_usual_ones_are_shown_and_the_one_with_the_highest_mean(tmp_path: Path) -> None:
    shown = report(tmp_path, highest("rew")).featured
    assert shown.among(BUILT_IN) == ["lru", "rew", "kmeans", "dkm", "fading"]
    assert shown.among(BUILT_IN[:5]) == list(BUILT_IN[:5]), "of a few, all"
    settings = ("lru", *(f"dkm:decay=0.{number}" for number in range(1, 8)))
    assert shown.among(settings) == list(settings), "of settings of one strategy, all"
    alike = report(tmp_path / "alike", lambda cell: 100.0).featured
    assert alike.among(BUILT_IN) == USUAL, "nobody is highest"


def test_of_many_places_those_are_shown_that_are_highest_most_often(tmp_path: Path) -> None:
    envs = ("CartPole-v1", "Acrobot-v1", "engram/OpenRoom-v0", "engram/FourRoom-v0")
    often = report(tmp_path, lambda cell: highest("sur" if cell.env in envs[:2] else "rew")(cell), envs=envs)
    assert often.featured.among(BUILT_IN) == ["lru", "rew", "sur", "kmeans", "dkm", "fading"]
    as_often = report(tmp_path / "b", lambda cell: highest("sur" if cell.env in envs[:2] else "lru")(cell), envs=envs)
    assert as_often.featured.among(BUILT_IN) == USUAL


def test_ones_own_are_shown_and_captions_say_that_others_are_not(tmp_path: Path) -> None:
    built_in = BUILT_IN[:6]
    shown = report(tmp_path, highest("dkm:decay=0.1"), strategies=built_in, own="Oldest")
    assert shown.featured.among((*built_in[:2], "Oldest", *built_in[3:])) == [
        *("lru", "Oldest", "kmeans", "dkm", "dkm:decay=0.1")
    ]
    drawings = [*shown.figures.by_size(), *shown.figures.needed(), *shown.figures.curves()]
    first = [each for each in drawings if isinstance(each, page.Drawing)]
    assert len(first) == 3
    assert all(each.caption.startswith("Of six strategies, five are shown and compared here. ") for each in first)
    (forest,) = shown.figures.finding("", "")
    assert isinstance(forest, page.Drawing)
    assert forest.caption.startswith("Of six strategies, five are shown and compared here. Left: ")


def test_a_forest_has_the_highest_of_each_panel_and_says_so(tmp_path: Path) -> None:
    envs = ("CartPole-v1", "Acrobot-v1", "engram/OpenRoom-v0", "engram/FourRoom-v0")
    shown = report(tmp_path, lambda cell: highest("sur" if cell.env == envs[0] else "lru")(cell), envs=envs)
    (forest,) = shown.figures.finding("", "")
    assert isinstance(forest, page.Drawing)
    assert "four are shown and compared here. Each panel also has its highest. Left: " in forest.caption


def test_where_none_of_them_is_finished_all_are_folded(tmp_path: Path) -> None:
    study = Study("mine", "Mine", (Grid("mfec", "CartPole-v1", 1_000, range(3), BUILT_IN, (50, 500)),))
    found = results(
        *(study, lambda cell, seed: 1.0 + seed),
        places=declare(study, tmp_path),
        without=lambda place: place["strategy"]["name"] != "rew",
    )
    shown = StudyReport(found, tmp_path, study)
    (folded,) = shown.figures.by_size()
    assert isinstance(folded, page.Folded)
    assert "## Scores by memory size" not in markdown(page.Page("", shown.content()))
