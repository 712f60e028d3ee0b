"""Which runs share axes on a page."""

from pathlib import Path

import numpy as np

from engram.lab.comparable import comparable
from engram.lab.run_record import RunRecord, Series
from engram.runs.glance import Glance

NOTHING = Series(np.zeros(0), np.zeros(0))


def made(name: str, env: str, taken: int) -> RunRecord:
    glance = Glance(Path(name), "finished", {"agent": "mfec", "env": env}, taken)
    return RunRecord(name, glance, NOTHING, np.zeros(0), np.zeros(0), NOTHING)


def names(*runs: RunRecord) -> dict[str, list[str]]:
    return {title: [run.name for run in group] for title, group in comparable(runs).items()}


def test_runs_of_one_environment_and_about_one_length_share_axes() -> None:
    runs = made("c", "CartPole-v1", 4_000), made("a", "Acrobot-v1", 1_000), made("b", "CartPole-v1", 1_000)
    assert names(*runs) == {"CartPole-v1": ["c", "b"], "Acrobot-v1": ["a"]}


def test_a_run_that_would_hardly_be_seen_beside_a_longer_one_has_its_own() -> None:
    runs = made("long", "CartPole-v1", 50_000), made("short", "CartPole-v1", 1_000), made("also", "CartPole-v1", 2_000)
    assert names(*runs) == {
        "CartPole-v1, up to 50,000 steps": ["long"],
        "CartPole-v1, up to 2,000 steps": ["short", "also"],
    }
    assert names(made("new", "CartPole-v1", 0), made("other", "CartPole-v1", 3)) == {"CartPole-v1": ["new", "other"]}
