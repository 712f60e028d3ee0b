"""Totals over strata: estimates as rliable has them, and intervals that hold the truth about as often as they say."""

import numpy as np
import pytest

from engram.errors import InvalidInputError
from engram.lab.bootstrap import (
    Total,
    bootstrap,
    interquartile_mean_of_runs,
    mean_of_means,
    median_of_means,
)
from engram.lab.statistics import mean_term
from engram.lab.statistics import total as sum_of

STRATA = [np.array(scores) for scores in ([0.0, 1.0, 2.0], [4.0, 4.0, 10.0], [1.0, 2.0, 0.0], [30.0, 30.0, 30.0])]


def test_totals_are_what_they_are_called() -> None:
    found = {kind: bootstrap(STRATA, kind).estimate for kind in (mean_of_means, median_of_means)}
    assert found == {mean_of_means: pytest.approx((1 + 6 + 1 + 30) / 4), median_of_means: pytest.approx(3.5)}
    middle = sorted(np.concatenate(STRATA).tolist())[3:9]
    assert bootstrap(STRATA, interquartile_mean_of_runs).estimate == pytest.approx(np.mean(middle))


def test_the_same_scores_give_the_same_interval_and_equal_ones_none() -> None:
    assert bootstrap(STRATA, mean_of_means) == bootstrap(STRATA, mean_of_means)
    low, estimate, high = bootstrap([np.full(3, 2.0)] * 4, median_of_means)
    assert low == estimate == high == 2


def test_two_runs_have_no_interval() -> None:
    few = bootstrap([*STRATA, np.array([1.0, 2.0])], mean_of_means)
    assert not few.bounded
    assert few.estimate == pytest.approx((1 + 6 + 1 + 30 + 1.5) / 5)
    with pytest.raises(InvalidInputError, match="at least one stratum"):
        bootstrap([], mean_of_means)


def test_a_mean_varies_as_much_as_it_should() -> None:
    """Drawing n of n runs would make the interval narrower by √(2/3) with three runs."""
    rng = np.random.default_rng(1)
    strata = list(rng.normal(0, 1, (200, 3)))
    ours = bootstrap(strata, mean_of_means)
    exact = sum_of([mean_term(scores).times(1 / len(strata)) for scores in strata])
    assert ours.high - ours.low == pytest.approx(exact.high - exact.low, rel=0.06)


@pytest.mark.parametrize("kind", [mean_of_means, interquartile_mean_of_runs])
def test_intervals_hold_the_truth(kind: Total) -> None:
    rng = np.random.default_rng(2)
    middles = np.linspace(-2, 2, 26)[:, None]  # symmetric about 0, so that every total is 0
    held = []
    for _ in range(200):
        interval = bootstrap(list(middles + rng.normal(0, 0.5, (26, 5))), kind, draws=300)
        held.append(interval.low <= 0 <= interval.high)
    assert 0.9 <= np.mean(held) <= 0.99
