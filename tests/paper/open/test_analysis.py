"""The report on what the paper leaves open: each variant beside the plain runs."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from engram.lab.cell import Cell
from engram.lab.pages import page
from engram.lab.pages.score_tables import ABOVE, BELOW
from engram.paper.open.analysis import OpenReport
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader


def test_variants_are_told_from_what_they_vary(tmp_path: Path) -> None:
    study = STUDIES["open"].only(strategies=("lru", "dkm"), games=("cartpole",), seeds=(0, 1, 2))
    places = declare(study, tmp_path)
    gone = ("evaluation every 250 steps", "dkm", 1)

    def part(variant: str) -> pl.DataFrame:
        mean = 150.0 + {"mean kernel": -80.0, "duplicates stored": 80.0, "episodes merged as one": 40.0}.get(
            variant, 0.0
        )
        return results(
            *(study, lambda cell, seed: mean + 5 * seed),
            places={run_id: place for run_id, place in places.items() if place["variant"] == variant},
            without=lambda place: (place["variant"], Cell.of(place).strategy, place["seed"]) == gone,
        ).evaluations

    parts = [part(variant) for variant in dict.fromkeys(place["variant"] for place in places.values())]
    found = replace(
        results(study, lambda cell, seed: 0.0, places=places, without=lambda place: True), evaluations=pl.concat(parts)
    )
    report = OpenReport(found, tmp_path, study)
    tables = Reader(page.Page("", report.sections()).html()).tables
    table = tables["MFEC, 50 entries per action, after 15,000 training steps, n = 3"]
    rows = {row[0]: row[1:] for row in table}
    assert rows[""] == ["LRU", "DkM", "mean change"]
    assert rows["as in the other studies"] == ["155 ± 5", "155 ± 5", "–"]
    assert rows["mean kernel"][:2] == [f"75 ± 5{BELOW}", f"75 ± 5{BELOW}"]
    assert rows["mean kernel"][2].startswith("−80 [−")
    assert rows["duplicates stored"][:2] == [f"235 ± 5{ABOVE}", f"235 ± 5{ABOVE}"]
    assert rows["episodes merged as one"][:2] == ["–", f"195 ± 5{ABOVE}"]
    assert rows["episodes merged as one"][2].startswith("40 [")
    assert rows["evaluation every 250 steps"][:2] == ["155 ± 5", "missing"]
    over = "mean return of training episodes (ε-greedy) over the same time as the score"
    trained = {row[0]: row[1:] for row in tables[f"MFEC, 50 entries per action: {over}, n = 3"]}
    assert trained["as in the other studies"] == ["78 ± 2", "78 ± 2"]
    assert trained["episodes merged as one"] == ["–", "98 ± 2"]
    assert trained["evaluation every 250 steps"] == ["78 ± 2", "missing"], "never a mean over what happens to be there"


def test_before_any_choice_has_all_its_runs_nothing_is_said_of_any(tmp_path: Path) -> None:
    study = STUDIES["open"].only(strategies=("lru", "dkm"), games=("cartpole",), seeds=(0, 1, 2))
    places = declare(study, tmp_path)
    found = results(study, lambda cell, seed: 9.0, places=places, without=lambda place: place["variant"] != "")
    report = OpenReport(found, tmp_path, study)
    assert report.finding == "No choice that the paper leaves open has all its runs, so nothing is known of any."
    assert report.write().is_file()
