"""The page of a study that is not the paper's: references of any name, agents of one's own, or neither."""

import csv
from pathlib import Path

from engram.lab.cell import Cell
from engram.lab.grid import Grid, Study
from engram.lab.pages import page
from engram.lab.pages.study_page import StudyReport
from engram.lab.reference import Reference, Score, merge_references
from engram.lab.results import Results
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader

CELL = Cell("CartPole-v1", "mfec", "lru", 50)
THEIRS = Reference("lab", "the other lab", {CELL: Score(90.0, 5.0, 5, 1_000)})
OLD = Reference("old", "last year's runs", {CELL: Score(10.0, 2.0, 3, 1_000)}, prefix="old ")
OLDER = Reference("older", "those before", {CELL: Score(9.0, 1.0, 3, 1_000)}, prefix="older ")
GRIDS = (
    Grid("mfec", "CartPole-v1", 1_000, range(3), ("lru", "dkm"), (50, 500)),
    Grid("d3qn", "CartPole-v1", 1_000, range(3)),
)
STUDY = Study("mine", "Mine", GRIDS, (THEIRS, OLD, OLDER))
CAPTION = "MFEC after 1,000 training steps, n = 3"


def found(study: Study, folder: Path) -> Results:
    scores = {"lru": 20.0, "dkm": 50.0}
    return results(
        *(study, lambda cell, seed: scores.get(str(cell.strategy), 30.0) + seed),
        places=declare(study, folder),
        curve=lambda cell, seed, score: ((500, 1_000), (score / 2, score)),
    )


def test_a_study_brings_any_number_of_named_references(tmp_path: Path) -> None:
    out = StudyReport(found(STUDY, tmp_path), tmp_path, STUDY).write().parent
    reader = Reader((out / "index.html").read_text())
    assert reader.tables[CAPTION][1][1] == "21.0 ± 1.0▼<small>90 ± 5<small>old 10 ± 2<small>older 9 ± 1"
    assert "Below: the other lab's, and those of last year's runs, and those of those before." in reader.text
    assert "ours lies above or below the other lab's" in reader.text
    assert "Not in the other lab: DkM." in reader.text
    with (out / "scores.csv").open(newline="") as file:
        rows = {(row["strategy"], row["capacity"]): row for row in csv.DictReader(file)}
    row = rows["lru", "50"]
    assert (row["lab_mean"], row["old_std"], row["older_mean"], row["differs"]) == ("90.0", "2.0", "9.0", "▼")
    assert rows["dkm", "50"]["lab_mean"] == ""


def test_a_study_without_references_or_claims_has_the_same_page_without_them(tmp_path: Path) -> None:
    out = StudyReport(found(STUDY, tmp_path), tmp_path, Study("mine", "Mine")).write().parent
    reader = Reader((out / "index.html").read_text())
    assert reader.tables[CAPTION][1][1] == "21.0 ± 1.0"
    assert not [word for word in ("paper", "claim", "Below", "▼", "differs") if word in reader.text]
    assert "differs" not in (out / "scores.csv").read_text()


def test_agents_are_shown_whatever_they_are_called(tmp_path: Path) -> None:
    """Those with a capacity have a table by size, the others are baselines; neither is imported."""
    names = {"mfec": "Mine", "d3qn": "Random"}
    places = {run: {**place, "agent": names[place["agent"]]} for run, place in declare(STUDY, tmp_path).items()}
    read = results(
        *(STUDY, lambda cell, seed: 30.0 + seed),
        places=places,
        curve=lambda cell, seed, score: ((500, 1_000), (score / 2, score)),
    )
    report = StudyReport(read, tmp_path)
    reader = Reader(page.Page("", report.content()).html())
    assert [row[0] for row in reader.tables["Mine after 1,000 training steps, n = 3"]] == [
        "entries per action",
        "50",
        "500",
    ]
    assert reader.tables["Random after 1,000 training steps, n = 3"][1] == ["CartPole", "31.0 ± 1.0"]
    assert "CartPole: Mine (n = 3) and Random (n = 3) for several numbers of entries per action" in reader.text
    assert "Random" in (tmp_path / "figures" / "score-by-size.svg").read_text()


def test_runs_with_other_settings_in_one_cell_are_reported(tmp_path: Path) -> None:
    study = Study("mine", "Mine", GRIDS[:1])
    declare(study.only(seeds=(0, 1)), tmp_path)
    places = declare(study.only(seeds=(2,), settings={"neighbours": 3}), tmp_path)
    assert {str(place.get("settings")) for place in places.values()} == {"None", "{'neighbours': 3}"}
    read = results(study, lambda cell, seed: 1.0, places=places)
    (warning,) = StudyReport(read, tmp_path).warnings()
    assert "MFEC, LRU, 50: its runs differ in more than their seed" in warning.html()


def test_references_of_one_source_become_one() -> None:
    other = Cell("Acrobot-v1", "mfec", "lru", 50)
    merged = merge_references((THEIRS, OLD), (Reference("lab", "the other lab", {other: Score(1.0, 1.0, 1, 1)}),))
    assert [reference.key for reference in merged] == ["lab", "old"]
    assert set(merged[0].scores) == {CELL, other}
    assert set(THEIRS.scores) == {CELL}
