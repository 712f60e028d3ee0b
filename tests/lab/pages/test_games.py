"""A study of several environments: one table of all, a panel for each, and nothing for what was not run."""

from pathlib import Path
from typing import Any

import pytest

from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.pages.score_tables import legend
from engram.lab.pages.study_page import StudyReport
from engram.lab.results import Results
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results
from tests.lab.pages.test_study_page import Reader, texts_of

STRATEGIES = ("lru", "dkm", "fading")
SHORT = {"steps": 300_000, "evaluation_interval_steps": 30_000, "evaluation_episodes": 3, "evaluation_max_steps": 4_000}
STEPS = tuple(range(30_000, 330_000, 30_000))
CAPTION = "MFEC after 300,000 training steps (the paper: 5,000,000), n = 2"
ATARI = STUDIES["atari"]
PONG, BOWLING, QBERT = (f"engram/{name}-v0" for name in ("Pong", "Bowling", "Qbert"))


def score(cell: Cell, seed: int) -> float:
    mean = {PONG: -13.0, BOWLING: 47.0}.get(cell.env, 700.0)
    return mean + {"fading": 4.0, "dkm": 1.0}.get(str(cell.strategy), 0.0) + seed


def curve(cell: Cell, seed: int, value: float) -> tuple[tuple[int, ...], list[float]]:
    return STEPS, [value] * len(STEPS)


def games(folder: Path, without: str = "", **choices: Any) -> Results:
    """The games with MFEC at one size; no run of one of them is finished."""
    chosen = {"agents": ["mfec"], "sizes": (10_000,), "seeds": (0, 1), "strategies": STRATEGIES, **SHORT, **choices}
    study = ATARI.only(**chosen)
    return results(
        *(study, score),
        curve=curve,
        places=declare(study, folder),
        without=lambda place: place["env"] == without,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = games(tmp_path_factory.mktemp("study"), QBERT)
    return StudyReport(found, tmp_path_factory.mktemp("report"), ATARI).write().parent


def test_all_games_are_in_one_table_that_says_how_long_they_were_trained(written: Path) -> None:
    reader = Reader((written / "index.html").read_text())
    header, *rows = reader.tables[CAPTION]
    assert header == ["environment", "entries per action", "LRU", "DkM", "Fading"]
    assert [row[:2] for row in rows] == [
        [name, "10,000"] for name in ("Bowling", "MsPacman", "Pong", "SpaceInvaders", "Qbert")
    ]
    assert rows[0][2:] == [
        "47.5 ± 0.7<small>51.1 ± 2.8",
        "48.5 ± 0.7<small>53.8 ± 2.8",
        "51.5 ± 0.7",
    ]  # two seeds make no winner
    assert rows[4][2:] == ["missing<small>1724 ± 846", "missing<small>1728 ± 942", "missing"]
    assert "plays 3 greedy episodes, each cut off after 4,000 steps" in reader.text
    assert "all its 10 evaluations" in reader.text


def test_after_other_training_nothing_is_marked_and_the_legend_says_so(written: Path) -> None:
    text = Reader((written / "index.html").read_text()).text
    assert not {"▲", "▼", "○"} & set(text)
    assert "None is marked as above or below the paper's, since training was not as long." in text
    assert "Not in the paper: Fading." in text
    assert "rerun" not in text  # there is none of the games


def test_a_panel_for_each_game_that_was_run(written: Path) -> None:
    names = {path.stem for path in (written / "figures").iterdir()}
    assert names == {"curves", "finding"}
    texts = texts_of(written / "figures" / "curves.svg")
    games = {f"{name}, n = 2" for name in ("Bowling", "MsPacman", "Pong", "SpaceInvaders")}
    assert games | {"LRU", "DkM", "Fading"} <= texts
    assert not any("Qbert" in str(text) for text in texts)
    html = (written / "index.html").read_text()
    assert "MFEC (n = 2) with 10,000 entries per action, over 300,000 training steps." in html
    assert "Scores by memory size" not in html  # there is one size only


def test_rows_say_how_long_where_they_differ(tmp_path: Path) -> None:
    found = games(tmp_path, agents=["nec"], sizes=None, steps=None, strategies=None)
    tables = Reader(page.Page("", StudyReport(found, tmp_path, ATARI).tables()).html()).tables
    rows = [row[0] for row in tables["NEC, n = 2"]]
    pong = rows.index("Pong")
    assert "10,0005,000,000 training steps" in rows[pong : pong + 4]
    assert "100,0003,500,000 training steps" in rows[pong : pong + 4]


def test_what_is_not_part_of_the_study_is_not_missing(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"agents": ["mfec"], "sizes": (10_000,), "seeds": (0, 1), **SHORT}
    declare(ATARI.only(games=["pong"], strategies=("lru", "fading"), **chosen), tmp_path)
    study = ATARI.only(games=["bowling"], strategies=("lru", "dkm"), **chosen)
    found = results(study, score, places=declare(study, tmp_path))
    html = page.Page("", StudyReport(found, tmp_path, ATARI).tables()).html()
    rows = {row[0]: row[2:] for row in Reader(html).tables[CAPTION]}
    assert list(rows) == ["environment", "Bowling", "Pong"], "in the study's order, not in that of the calls"
    assert rows["environment"] == ["LRU", "DkM", "Fading"]
    assert rows["Pong"][1:] == ["–<small>0.63 ± 5.3", "−8.5 ± 0.7"]
    assert rows["Bowling"][1:] == ["48.5 ± 0.7<small>53.8 ± 2.8", "–"]
    assert "–: not run." in html


def test_the_legend_explains_what_there_is(tmp_path: Path) -> None:
    as_long = legend(Evidence([games(tmp_path / "long", steps=5_000_000, strategies=("lru", "dkm"))]), ATARI.references)
    assert "▲ ▼: ours lies above or below the paper's" in as_long
    assert "Not in the paper" not in as_long
    rooms = STUDIES["openroom"].only(seeds=(0, 1))
    found = results(rooms, score, places=declare(rooms, tmp_path / "room"), filled=lambda cell: cell.capacity != 200)
    assert "the paper" not in legend(Evidence([found]), rooms.references)
    assert "○: no table ever filled" in legend(Evidence([found]), rooms.references)
