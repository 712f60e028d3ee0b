"""How probably one score is above another: rliable's numbers, Newcombe's interval, and seeds that are shared."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rliable import metrics
from scipy import stats

from engram.errors import InvalidInputError
from engram.lab.improvement import improvement_interval, probability_of_improvement
from engram.typing import Doubles

SCORES = st.lists(st.integers(-50, 50).map(float), min_size=3, max_size=6)


@given(
    arrays(np.float64, (4, 3), elements=st.integers(0, 5).map(float)),
    arrays(np.float64, (5, 3), elements=st.integers(0, 5).map(float)),
)
def test_probability_of_improvement_is_that_of_rliable_ties_included(a: Doubles, b: Doubles) -> None:
    expected = metrics.probability_of_improvement(a, b)
    assert probability_of_improvement(a.T, b.T) == pytest.approx(expected, abs=1e-12)
    assert improvement_interval(a.T, b.T).estimate == pytest.approx(expected, abs=1e-12)


def test_the_probability_of_improvement_has_a_width_where_scores_do_not_overlap() -> None:
    low, estimate, high = improvement_interval([[4.0, 5.0, 6.0]], [[1.0, 2.0, 3.0]])
    assert (estimate, high) == (1.0, 1.0)
    assert 0.2 < low < 0.7
    many = improvement_interval([np.arange(20.0) + 100], [np.arange(20.0)])
    assert 0.8 < many.low < many.high == 1.0
    strata = improvement_interval([[4.0, 5.0, 6.0]] * 9, [[1.0, 2.0, 3.0]] * 9)
    assert strata.low == pytest.approx(1 - (1 - low) / 3)  # the mean of nine has a third of the error
    same = improvement_interval([[1.0] * 5], [[1.0] * 5])
    assert same.low == pytest.approx(1 - same.high)
    assert same.low < 0.2


def test_the_interval_of_the_probability_of_improvement_is_newcombes() -> None:
    """At its bounds, the estimate is as far away as chance allows there."""
    a, b = [1.0, 3.0, 5.0, 7.0, 9.0], [0.0, 2.0, 4.0, 6.0]
    low, estimate, high = improvement_interval([a], [b])
    for p in (low, high):
        spread = p * (1 - p) * (1 + 3.5 * (1 - p) / (2 - p) + 3.5 * p / (1 + p)) / 20
        assert abs(p - estimate) == pytest.approx(stats.t.ppf(0.975, 7) * sqrt(spread), rel=1e-6)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=3))
def test_swapping_gives_the_other_probability(pairs: list[tuple[list[float], list[float]]]) -> None:
    a, b = zip(*pairs, strict=True)
    p = probability_of_improvement(a, b)
    assert probability_of_improvement(b, a) == pytest.approx(1 - p, abs=1e-12)
    assert probability_of_improvement(a, a) == pytest.approx(0.5)
    one, other = improvement_interval(a, b), improvement_interval(b, a)
    assert one.estimate == pytest.approx(p)
    assert 0 <= one.low <= p <= one.high <= 1
    assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low), abs=1e-9)


def test_strata_that_share_their_seeds_have_a_wider_interval() -> None:
    rng = np.random.default_rng(0)
    a, b = (
        [list(rng.normal(place, 1, 10)) for place in range(5)],
        [list(rng.normal(place, 1, 10)) for place in range(5)],
    )
    apart = improvement_interval(a, b)
    shared = improvement_interval([sorted(scores) for scores in a], [sorted(scores) for scores in b])  # a good seed is
    assert shared.estimate == apart.estimate
    assert shared.high - shared.low > 1.8 * (apart.high - apart.low)  # so everywhere: five sizes say what one does
    assert shared.high - shared.low < 2.3 * (apart.high - apart.low)  # √5


def test_below_three_runs_there_is_no_interval() -> None:
    three = [1.0, 2.0, 3.0]
    for few in ([2.0], [1.0, 3.0]):
        assert improvement_interval([few, three], [three, three]) == (-inf, 0.5, inf)


def test_what_cannot_be_used_is_named() -> None:
    good, holed = [1.0, 2.0, 3.0], [1.0, float("nan"), 3.0]
    with pytest.raises(InvalidInputError, match="stratum 0 of b must be finite, got nan"):
        probability_of_improvement([good], [holed])
    with pytest.raises(InvalidInputError, match="same strata, got 2 of a and 1 of b"):
        improvement_interval([good, good], [good])
    with pytest.raises(InvalidInputError, match="level must lie between 0 and 1, got 95"):
        improvement_interval([good], [good], level=95)
