"""The report on forgetting: settings are compared with LRU, kM and DkM cell by cell, and ranked by its rule."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.results import Results
from engram.paper.forgetting.analysis import ForgettingReport, Record, ranked, record
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader

FORGETTING = STUDIES["forgetting"].only(
    strategies=("lru", "kmeans", "dkm", "dkm:decay=0.1", "fading"), sizes=(50, 500), seeds=(0, 1, 2)
)
FORGETTING = replace(FORGETTING, grids=FORGETTING.grids[:2])  # CartPole
SETTINGS = ("lru", "kmeans", "dkm", "dkm:decay=0.1", "fading")
PLACES = [("CartPole-v1", agent, size) for agent in ("mfec", "nec") for size in (50, 500)]


def forgetting_score(cell: Cell, seed: int) -> float:
    """Fading and kM are never worse, Fading more often above; a decay of 0.1 is worse in one cell; LRU in three."""
    mean = {"lru": 100.0, "kmeans": 200.0, "dkm": 150.0, "dkm:decay=0.1": 250.0, "fading": 250.0}[str(cell.strategy)]
    if (cell.agent, cell.capacity, cell.strategy) == ("mfec", 50, "kmeans"):
        mean = 150.0
    if (cell.agent, cell.capacity) == ("nec", 500):
        mean = {"lru": 200.0, "dkm:decay=0.1": 100.0}.get(str(cell.strategy), 200.0)
    return mean + 2 * (seed - 1)


def forgotten(folder: Path, **options: Any) -> Results:
    return results(FORGETTING, forgetting_score, places=declare(FORGETTING, folder), **options)


def test_settings_are_ranked_by_where_they_are_worse_and_then_by_how_often_above(tmp_path: Path) -> None:
    evidence = Evidence([forgotten(tmp_path)])
    found = {name: record(evidence, name, PLACES) for name in SETTINGS}
    assert {name: (len(each.worse), len(each.better), each.cells) for name, each in found.items()} == {
        "lru": (3, 0, 4),
        "kmeans": (0, 3, 4),
        "dkm": (2, 1, 4),
        "dkm:decay=0.1": (1, 3, 4),
        "fading": (0, 3, 4),
    }
    assert found["fading"].above == pytest.approx((3 * 1 + 0.5) / 4)
    assert found["lru"].above == pytest.approx((3 * 0 + 0.5) / 4)
    assert found["dkm:decay=0.1"].worse == (Cell("CartPole-v1", "nec", "dkm:decay=0.1", 500),)
    assert [each.setting for each in ranked(list(found.values()))] == [
        "fading",
        "kmeans",
        "dkm:decay=0.1",
        "dkm",
        "lru",
    ]


def test_cells_that_never_filled_or_lack_runs_are_not_counted(tmp_path: Path) -> None:
    evidence = Evidence([forgotten(tmp_path, filled=lambda cell: (cell.agent, cell.capacity) != ("nec", 500))])
    assert {(each.cells, len(each.worse)) for each in [record(evidence, "dkm:decay=0.1", PLACES)]} == {(3, 0)}
    lost = Evidence([forgotten(tmp_path, without=lambda place: place["capacity"] == 50 and place["seed"] == 1)])
    assert record(lost, "fading", PLACES).cells == 2
    twice = [place for place in declare(FORGETTING, tmp_path).items() if place[1]["seed"] < 2]
    assert record(Evidence([results(FORGETTING, forgetting_score, places=dict(twice))]), "fading", PLACES).cells == 0
    nothing = record(Evidence(), "fading", PLACES)
    assert (nothing.cells, nothing.nearly_everywhere) == (0, False)
    assert ranked([nothing, record(evidence, "lru", PLACES)])[-1] is nothing


def test_nearly_everywhere_is_nine_cells_of_ten() -> None:
    def worse_in(count: int, cells: int) -> Record:
        return Record("it", cells, (Cell("", "", "", 0),) * count, (), {}, 0.5)

    assert [worse_in(count, 10).nearly_everywhere for count in (0, 1, 2)] == [True, True, False]
    assert [worse_in(count, 32).nearly_everywhere for count in (3, 4)] == [True, False]


def test_the_report_on_forgetting_chooses(tmp_path: Path) -> None:
    report = ForgettingReport(forgotten(tmp_path), tmp_path, FORGETTING)
    text = page.Page("", report.claims()).html()
    _, *rows = Reader(text).tables[""]
    assert [row[0] for row in rows] == ["Fading", "kM", "DkM (decay 0.1)", "DkM", "LRU"]
    assert rows[0][1:] == ["0 of 4", "3 of 4", "0.88", "yes", "nowhere"]
    assert rows[2][1:] == ["1 of 4", "3 of 4", "0.75", "no", "CartPole NEC 500"]


def test_the_page_leads_with_the_count_and_draws_what_is_counted(tmp_path: Path) -> None:
    report = ForgettingReport(forgotten(tmp_path), tmp_path, FORGETTING)
    assert report.finding == (
        "Fading (clusters that fade) scores above LRU in three of four cells, above kM in three and above DkM in "
        "three, and below one of them in none. A cell is an environment, an agent and a memory size."
    )
    assert report.found.short == report.finding.partition(" A cell")[0]
    drawing, folded = report.first_figure()
    assert isinstance(drawing, page.Drawing)
    assert drawing.alt == report.finding
    assert "n = 3: right of the broken line Fading scores higher" in drawing.caption
    assert "".join(drawing.svgs).count("less LRU") == 2  # once for each panel
    assert isinstance(folded, page.Folded)
    rule, where = report.details()
    assert isinstance(rule, page.Text)
    assert "the fewest cells of five settings" in rule.text
    assert isinstance(where, page.Folded)
    (best, *_) = report.records
    assert {name: len(gaps) for name, gaps in best.gaps.items()} == {"lru": 4, "kmeans": 4, "dkm": 4}
    assert [gap.above(0) for gap in best.gaps["kmeans"].values()].count(True) == 3


def test_where_the_best_is_worse_is_named_and_without_enough_runs_nothing_is_drawn(tmp_path: Path) -> None:
    def score(cell: Cell, seed: int) -> float:
        less: dict[object, int] = {("fading", 50): 160, ("kmeans", 50): 200, ("kmeans", 500): 200, ("dkm", 500): 100}
        return forgetting_score(cell, seed) - (cell.agent == "mfec") * less.get((str(cell.strategy), cell.capacity), 0)

    places = declare(FORGETTING, tmp_path)
    worse = ForgettingReport(results(FORGETTING, score, places=places), tmp_path, FORGETTING)
    assert worse.finding.endswith(
        ", and below one of them in one (CartPole NEC 500). A cell is an environment, an agent and a memory size."
    )
    assert worse.found.short.endswith(", and below one of them in one.")
    one = {run: place for run, place in places.items() if place["seed"] == 0}
    lone = ForgettingReport(results(FORGETTING, forgetting_score, places=one), tmp_path, FORGETTING)
    assert lone.first_figure() == lone.details() == []
