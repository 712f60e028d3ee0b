"""Comparisons of strategies: who is above whom, and whom chance does not tell apart."""

import numpy as np
import pytest

from engram.lab.ranking import Comparison, best_of, together
from engram.lab.statistics import pooled_difference

SPREAD = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])


def at(**means: tuple[float, ...]) -> Comparison:
    """Strategies with these means at sizes 1, 2, …; five seeds each."""
    return Comparison({name: {i + 1: mean + SPREAD for i, mean in enumerate(each)} for name, each in means.items()})


def test_strategies_are_ordered_and_told_apart_where_chance_does_not_explain_it() -> None:
    found = at(lru=(10, 20), dkm=(30, 40), rew=(10.2, 20.1))
    assert found.order == ["dkm", "rew", "lru"]
    assert found.above == {"dkm": ("rew", "lru"), "rew": (), "lru": ()}
    assert found.sizes == [1, 2]
    assert found.mean("dkm") == 35
    assert (found.runs("dkm"), found.seeds) == (10, {5})
    pairs = [(found.scores["dkm"][size], found.scores["lru"][size]) for size in (1, 2)]
    assert found.gap("dkm", "lru") == pooled_difference(pairs, level=1 - 0.05 / 3)
    assert found.higher_at("rew", "lru") == [1, 2]


def test_a_probability_counts_pairs_of_the_same_size() -> None:
    found = at(lru=(10, 40), dkm=(30, 20))
    assert found.improvement("dkm", "lru").estimate == 0.5  # always at the first size, never at the second


def test_all_the_same_is_more_than_equal_means() -> None:
    assert not at(lru=(1,), dkm=(1,)).all_the_same
    assert Comparison({name: {1: np.ones(3)} for name in ("lru", "dkm")}).all_the_same


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_tell_nobody_apart(seeds: int) -> None:
    few = {name: mean + SPREAD[:seeds] for name, mean in (("lru", 0.0), ("dkm", 1_000.0))}
    assert best_of(few) == ()
    found = Comparison({name: {1: scores} for name, scores in few.items()})
    assert found.above == {"dkm": (), "lru": ()}
    assert not found.middle("dkm").bounded
    assert not found.improvement("dkm", "lru").bounded


def test_the_best_are_those_that_none_is_better_than() -> None:
    scores = {"lru": 1 + SPREAD, "kmeans": 5 + SPREAD, "dkm": 5.5 + SPREAD}
    assert best_of(scores) == ("kmeans", "dkm")
    assert best_of({"kmeans": scores["kmeans"], "dkm": scores["dkm"]}) == ()
    assert best_of({"lru": scores["lru"]}) == ()


def test_among_strategies_that_are_alike_there_is_seldom_a_best() -> None:
    draw = np.random.default_rng(0)
    found = [best_of({str(i): draw.normal(size=5) for i in range(5)}) for _ in range(400)]
    assert np.mean([bool(each) for each in found]) < 0.08


def test_intervals_that_hold_together_are_wider() -> None:
    assert [together(count) for count in (0, 1, 10)] == pytest.approx([0.95, 0.95, 0.995])
