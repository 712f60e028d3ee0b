"""What runs typically score: an interquartile mean, or of shares their mean, with intervals that have a width."""

import numpy as np
import pytest

from engram.lab.statistics import interquartile_interval, mean_interval, share_interval
from engram.lab.typical import are_shares, average, typical


def test_only_scores_between_0_and_1_are_shares() -> None:
    assert are_shares([np.array([0.0, 1.0]), np.array([0.3])])
    assert not are_shares([np.array([0.0, 1.0]), np.array([1.1])])
    assert not are_shares([np.array([-0.1])])


def test_of_shares_the_mean_is_taken() -> None:
    few = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    assert typical([few], shares=False) == interquartile_interval([few]) == (0.0, 0.0, 0.0)
    assert typical([few], shares=True) == share_interval(few)
    assert typical([few], shares=True).estimate == pytest.approx(0.2)


def test_of_one_size_shares_that_are_all_alike_leave_room() -> None:
    assert typical([np.ones(5)], shares=True) == share_interval(np.ones(5))
    assert typical([np.ones(5)], shares=True).low < 0.6
    assert typical([np.zeros(5), np.zeros(5)], shares=True) == (0.0, 0.0, 0.0)


def test_over_sizes_scores_of_a_seed_are_averaged_first() -> None:
    a, b = np.array([0.1, 0.4, 0.2]), np.array([0.3, 0.2, 0.9])
    assert np.array(average([a, b], shares=False)) == pytest.approx(np.array(mean_interval((a + b) / 2)))
    low, estimate, high = average([a / 9, b / 9], shares=True)
    assert low == 0  # it would go below
    assert (estimate, high) == pytest.approx(np.array(mean_interval((a + b) / 18))[1:])
    assert not average([a[:2], b[:2]], shares=True).bounded
