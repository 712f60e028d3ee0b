"""What a page says of its runs is what their configs and logs say."""

import json
from pathlib import Path
from typing import Any

import pytest

from engram.cli import main
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.wording import changes_in_words, evaluations_in_words, score_in_words, some_of, steps_in_words
from engram.lab.reports import find_report
from engram.lab.results import Results
from engram.lab.study_folder import StudyFolder
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declare, results

PLACE: dict[str, Any] = {"agent": "mfec", "env": "engram/Pong-v0"}
STUDY = ("study", "cartpole", "--agents", "mfec", "--strategies", "lru", "--sizes", "20", "--seeds", "1", "--jobs", "1")
SHORT = ("--steps", "400", "--evaluation-interval-steps", "200", "--evaluation-episodes", "3")
TOLD = "Every 200 training steps an evaluation plays 3 greedy episodes, each cut off after 30 steps."


def test_steps_are_told_beside_the_papers_where_those_are_others() -> None:
    assert steps_in_words([15_000]) == "15,000 training steps"
    assert steps_in_words([15_000, 15_000], {15_000}, "the paper") == "15,000 training steps"
    assert steps_in_words([300_000], {5_000_000}, "the paper") == "300,000 training steps (the paper: 5,000,000)"
    assert steps_in_words({20, 10}, {30, 40}, "the paper") == "10 or 20 training steps (the paper: 30 or 40)"


@pytest.mark.parametrize(
    ("counts", "which"),
    [
        ([40, 30], "its last 10 evaluations"),
        ([10, 11], "its last 10 evaluations"),
        ([40, 3], "its last 10 evaluations, or of all where there were fewer"),
        ([10, 10], "all its 10 evaluations"),
        ([3, 3], "all its 3 evaluations"),
        ([3, 7], "all its evaluations"),
        ([1, 1], "its only evaluation"),
        ([], "its last 10 evaluations"),
    ],
)
def test_a_score_is_the_mean_of_as_many_evaluations_as_there_are(counts: list[int], which: str) -> None:
    assert score_in_words(counts) == f"A run's score is the mean return of {which}."


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "Every 500 training steps an evaluation plays 10 greedy episodes."),
        ({"evaluation_episodes": 1}, "Every 500 training steps an evaluation plays 1 greedy episode."),
        ({"evaluation_epsilon": 0.05}, "Every 500 training steps an evaluation plays 10 episodes with ε = 0.05."),
        (
            {"evaluation_interval_steps": 30_000, "evaluation_episodes": 3, "evaluation_max_steps": 4_000},
            "Every 30,000 training steps an evaluation plays 3 greedy episodes, each cut off after 4,000 steps.",
        ),
    ],
)
def test_evaluations_are_told_as_they_were(settings: dict[str, float], told: str) -> None:
    assert evaluations_in_words([{**PLACE, **settings}] * 2) == told


def test_of_one_thing_it_is_not_said_how_many() -> None:
    assert [some_of(1, every, "size") for every in (1, 2)] == ["the one size", "one of two sizes"]
    told = [changes_in_words(*counts, "choice", "score", " left open") for counts in ((0, 1), (1, 1), (0, 3), (2, 3))]
    assert told == [
        "the one choice left open changes no score",
        "the one choice left open changes a score",
        "none of three choices left open changes a score",
        "two of three choices left open change a score",
    ]


def test_evaluations_that_differ_are_told_apart() -> None:
    places = [PLACE, {**PLACE, "agent": "nec", "evaluation_episodes": 3}, {**PLACE, "env": "CartPole-v1"}]
    assert evaluations_in_words(places) == (
        "Every 500 training steps an evaluation plays 10 greedy episodes (MFEC in Pong, MFEC in CartPole); "
        "every 500 training steps an evaluation plays 3 greedy episodes (NEC in Pong)."
    )
    assert evaluations_in_words([]) == ""


def test_a_page_says_how_its_runs_were_evaluated(tmp_path: Path) -> None:
    """Also where `study.json` does not: the runs' own configs do, and what is exported says it from then on."""
    runs, out, again = (tmp_path / name for name in ("runs", "out", "again"))
    assert main([*STUDY, *SHORT, "--evaluation-max-steps", "30", "--out", str(runs)]) == 0
    read = StudyFolder(runs).read()
    (place,) = read["runs"].values()
    assert place.pop("evaluation_interval_steps") == 200
    assert place.pop("evaluation_episodes") == 3
    assert place.pop("evaluation_max_steps") == 30
    assert "evaluation_epsilon" not in place
    StudyFolder(runs).write(read["study"], read["title"], read["runs"])
    find_report(runs, out, STUDIES).write()
    assert f"A run's score is the mean return of all its 2 evaluations. {TOLD}" in (out / "README.md").read_text()
    find_report(out, again, STUDIES).write()
    assert (again / "index.html").read_bytes() == (out / "index.html").read_bytes()
    assert json.loads((again / "study.json").read_text()) == json.loads((out / "study.json").read_text())


def test_what_is_usual_is_not_written(tmp_path: Path) -> None:
    """So what was written before evaluations could be chosen is still true."""
    study = STUDIES["cartpole"].only(seeds=(0,))
    assert not any(key.startswith("evaluation") for place in declare(study, tmp_path).values() for key in place)
    places = declare(STUDIES["open"], tmp_path / "open").values()
    assert {place.get("evaluation_interval_steps") for place in places} == {None, 250, 1_000}
    assert {place.get("evaluation_epsilon") for place in places} == {None, 0.05}


def test_variants_do_not_count(tmp_path: Path) -> None:
    found = results(STUDIES["open"], lambda cell, seed: 1.0, places=declare(STUDIES["open"], tmp_path))
    assert StudyReport(found, tmp_path).evaluation == evaluations_in_words([PLACE])


def test_runs_that_differ_in_more_than_their_seed_are_told(tmp_path: Path) -> None:
    study = STUDIES["cartpole"].only(agents=["mfec"], strategies=("lru", "dkm"), sizes=(50,))
    declare(study.only(seeds=(0, 1)), tmp_path)
    places = declare(study.only(seeds=(2,), strategies=("lru",), steps=5_000), tmp_path)
    found = results(study, lambda cell, seed: 1.0, places=places)
    (warning,) = StudyReport(found, tmp_path).warnings()
    assert "MFEC, LRU, 50: its runs differ in more than their seed" in warning.html()
    assert "DkM" not in warning.html()
    alike = results(study, lambda cell, seed: 1.0, places=places, without=lambda place: place["steps"] == 5_000)
    assert "differ" not in "".join(block.html() for block in StudyReport(alike, tmp_path).warnings())


@pytest.mark.parametrize("name", ["agent_source", "strategy"])
def test_runs_of_classes_that_share_a_name_are_told(name: str, tmp_path: Path) -> None:
    study = STUDIES["cartpole"].only(agents=["mfec"], strategies=("lru",), sizes=(50,), seeds=(0, 1))
    places = declare(study, tmp_path)
    for source, place in zip("ab", places.values(), strict=True):
        place[name] = source if name == "agent_source" else {"name": "Oldest", "source": source}
    found = results(study, lambda cell, seed: 1.0, places=places)
    (warning,) = StudyReport(found, tmp_path).warnings()
    assert "its runs differ in more than their seed" in warning.html()


def test_results_without_run_folders_are_read_as_they_are(tmp_path: Path) -> None:
    study = STUDIES["cartpole"].only(agents=["mfec"], sizes=(50,), seeds=(0,), evaluation_episodes=3)
    found = results(study, lambda cell, seed: 1.0, places=declare(study, tmp_path / "declared"))
    found.export(tmp_path / "declared")
    assert Results.read(tmp_path / "declared").declared == found.declared
