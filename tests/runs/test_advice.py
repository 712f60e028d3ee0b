"""What the end of a run says of an agent that did not learn."""

from pathlib import Path
from typing import Any

import pytest

from engram import MFEC
from engram.cli import main
from engram.runs.advice import advice, diagnosis
from engram.runs.run import Run


def log(trained: list[tuple[float, int]], evaluated: list[list[tuple[float, int]]]) -> list[dict[str, Any]]:
    """A run's log: (return, length) of training episodes, and of the episodes of each evaluation."""
    episodes = [{"event": "episode", "return": total, "length": length} for total, length in trained]
    return [
        *episodes,
        *(
            {"event": "evaluation", "returns": [each[0] for each in one], "lengths": [each[1] for each in one]}
            for one in evaluated
        ),
    ]


def words_of(entries: list[dict[str, Any]]) -> str | None:
    found = diagnosis(entries)
    return None if found is None else found.words


def test_a_policy_that_walks_in_circles() -> None:
    told = words_of(log([(1.0, 40)] * 3 + [(0.0, 100)] * 5, [[(1.0, 30)], [(0.0, 100)] * 2] + [[(0.0, 100)] * 2] * 10))
    assert told is not None
    assert "limit of 100 steps, with a return of 0, while 3 of 8 training episodes" in told
    assert "ended earlier with more (up to 1)" in told
    assert "walks in circles" in told


def test_nothing_was_met() -> None:
    found = diagnosis(log([(-200.0, 200)] * 6, [[(-200.0, 200)]] * 4))
    assert found is not None
    assert found.met_nothing
    assert "had a return of -200" in found.words


def test_evaluations_that_never_change() -> None:
    told = words_of(log([(9.0, 9), (30.0, 30), (8.0, 8), (9.0, 9), (10.0, 10)], [[(9.0, 9)] * 3] * 4))
    assert told is not None
    assert "had a return of 9, while training episodes had up to 30" in told


def test_a_policy_below_that_of_training() -> None:
    told = words_of(log([(20.0, 20), (19.0, 19), (40.0, 40)] * 3, [[(9.0, 9), (10.0, 10)], [(8.0, 8), (10.0, 10)]] * 4))
    assert told is not None
    assert "return above 10, while half of the training episodes had 20 or more" in told
    assert told.endswith("has not learned from them")
    lost = words_of(log([(20.0, 20)] * 9, [[(500.0, 500)] * 2] * 9 + [[(9.0, 9), (10.0, 10)]] * 10))
    assert lost is not None
    assert lost.endswith("has lost what it had learned")


def test_evaluations_that_are_cut_off_are_not_compared() -> None:
    entries = log([(500.0, 500)] * 9, [[(100.0, 100)] * 2] * 9)
    assert diagnosis(entries, cut_off=100) is None
    assert diagnosis(entries) is not None


@pytest.mark.parametrize(
    "entries",
    [
        log([(20.0, 20)] * 9, [[(500.0, 500)] * 2] * 5),  # as good as can be, at the limit of an episode's length
        log([(20.0, 20), (600.0, 600)] * 5, [[(400.0, 400), (390.0, 390)]] * 5),  # it varies
        log([(1.0, 20)] * 3, [[(0.0, 100)]] * 5),  # too few episodes
        log([(1.0, 20)] * 9, [[(0.0, 100)]]),  # too few evaluations
        log([(20.0, 20)] * 9, [[(9.0, 9)], [(8.0, 8)]]),  # too few of their episodes
        log([], []),
    ],
)
def test_nothing_is_said_where_nothing_is_shown(entries: list[dict[str, Any]]) -> None:
    assert words_of(entries) is None


def test_what_to_try_fits_the_run() -> None:
    run = Run(MFEC, "CartPole-v1", MFEC.Config(capacity=5), steps=60)
    agent = run.make_agent()
    agent.learn(60)
    _, remedy = advice(run, agent, log([(1.0, 40)] * 9, [[(0.0, 100)]] * 3))
    assert "ε was still 1.00" in remedy
    assert "--capacity 20" in remedy
    assert "--steps 240" in remedy


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", "d3qn", "--env", "engram/FourRoom-v0", "--preset", "rooms", "--steps", "1000", "--no-progress"]
    assert main([*words, "--evaluation-episodes", "2", "--out", str(tmp_path / "run")]) == 0
    told = capsys.readouterr().out
    assert "return of 0" in told
    assert "\ntry: " in told
