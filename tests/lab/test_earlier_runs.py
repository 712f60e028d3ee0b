"""Versions of a study in one folder: those of earlier are marked, and what is shown of a cell is one version."""

from typing import Any

import pytest

from engram.lab.earlier_runs import Earlier, mark_earlier
from engram.lab.places import Place

Runs = dict[str, Place]


def run(run_id: str, **values: Any) -> Runs:
    place = {"agent": "mfec", "env": "CartPole-v1", "strategy": {"name": "lru"}, "capacity": 20, "seed": 0}
    return {run_id: {**place, "steps": 100, "variant": "", **values}}


def shown(runs: Runs) -> set[str]:
    """The runs that a report has."""
    return set(runs) - set(Earlier.among(runs).replaced)


FIRST, SECOND, THIRD = run("first"), run("second", steps=200), run("third", steps=300)
OTHER = run("other", strategy={"name": "rew"})


@pytest.mark.parametrize("name", ["agent_source", "strategy", "settings"])
def test_another_source_is_another_version_until_it_comes_back(name: str) -> None:
    sources = ("a", "b") if name == "agent_source" else ({"name": "Mine", "source": each} for each in "ab")
    first, second = (run(run_id, **{name: each}) for run_id, each in zip("ab", sources, strict=True))
    edited = mark_earlier(first, second, second.values())
    assert Earlier.among(edited) == Earlier(replaced=("a",))
    assert shown(mark_earlier(edited, first, first.values())) == {"a"}


def test_of_several_versions_of_a_cell_that_is_no_longer_the_studys_the_last_is_shown() -> None:
    runs: Runs = {}
    for version in (FIRST, SECOND, OTHER):
        runs = mark_earlier(runs, version, version.values())
    assert Earlier.among(runs) == Earlier(replaced=("first",), kept=("second",))
    runs = mark_earlier(mark_earlier(runs, FIRST, FIRST.values()), OTHER, OTHER.values())
    assert Earlier.among(runs) == Earlier(replaced=("second",), kept=("first",))


def test_versions_that_the_options_and_the_file_know_are_not_mixed() -> None:
    """The cell is not among those that are chosen, and both its versions are like runs of the study."""
    runs = mark_earlier(FIRST, SECOND, FIRST.values())
    both = [*FIRST.values(), *SECOND.values()]
    assert shown(mark_earlier(runs, OTHER, both)) == {"second", "other"}
    runs = mark_earlier(mark_earlier(runs, THIRD, THIRD.values()), OTHER, both)
    assert shown(runs) == {"second", "other"}
    assert shown(mark_earlier(runs, OTHER, FIRST.values())) == {"first", "other"}
