"""Intervals: rliable's and scipy's numbers, what shifting, scaling and swapping must do, and what is refused."""

import subprocess
import sys
from collections.abc import Callable
from itertools import permutations
from math import inf, sqrt

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from rliable import metrics
from scipy import stats
from tools.interval_coverage import coverage

from engram.errors import InvalidInputError
from engram.lab.improvement import probability_of_improvement
from engram.lab.statistics import (
    FEWEST,
    Interval,
    curve_interval,
    difference,
    difference_from,
    interquartile_interval,
    interquartile_mean,
    mean_interval,
    permutation_test,
    pooled_difference,
    rise_terms,
    share_interval,
    spread_term,
    total,
)
from engram.typing import Doubles

SCORE = st.integers(-50, 50).map(float)
SCORES = st.lists(SCORE, min_size=FEWEST, max_size=6)
LEVEL = st.sampled_from([0.5, 0.8, 0.95, 0.99])


def assert_interval(found: Interval, expected: npt.ArrayLike, size: float = 1.0) -> None:
    np.testing.assert_allclose(np.array(found), np.asarray(expected, np.float64), rtol=1e-9, atol=1e-9 * size)


def moved(interval: Interval, scale: float, shift: float = 0.0) -> Doubles:
    """What the interval of scores becomes when each is scaled and shifted."""
    return scale * np.array(interval if scale > 0 else interval[::-1]) + shift


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e3, 1e3)))
def test_interquartile_mean_is_that_of_rliable(scores: Doubles) -> None:
    expected = metrics.aggregate_iqm(scores)
    assert interquartile_mean(scores) == expected
    assert interquartile_interval(list(scores)).estimate == pytest.approx(expected, abs=1e-9)
    np.testing.assert_array_equal(
        interquartile_mean(scores, axis=0), [metrics.aggregate_iqm(task) for task in scores.T]
    )


@given(st.lists(SCORE, min_size=4, max_size=12, unique=True), LEVEL)
def test_the_interval_of_an_interquartile_mean_is_yuens(values: list[float], level: float) -> None:
    cut = len(values) // 4
    left = len(values) - 2 * cut
    winsorized = np.array(stats.mstats.winsorize(np.array(values), (cut / len(values), cut / len(values))))
    error = np.sqrt((len(values) - 1) * winsorized.var(ddof=1) / (left * (left - 1)))
    middle, half = interquartile_mean(values), stats.t.ppf((1 + level) / 2, left - 1) * error
    assert_interval(interquartile_interval([values], level=level), (middle - half, middle, middle + half), half)


def test_strata_that_differ_by_much_do_not_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    close = [rng.normal(0, 1, 6) for _ in range(4)]
    apart = [scores + 100 * place for place, scores in enumerate(close)]
    together = interquartile_interval([np.concatenate(apart)])
    each = interquartile_interval(apart)
    assert each.estimate == together.estimate
    assert each.high - each.low < 3 < together.high - together.low


def test_bands_of_curves_are_intervals_of_the_mean_at_each_point() -> None:
    curves = np.random.default_rng(0).normal([0.0, 5.0, 6.0], [1.0, 3.0, 0.0], size=(5, 3))
    band = curve_interval(curves, level=0.9)
    for point, bounds in enumerate(zip(*band, strict=True)):
        assert_interval(Interval(*map(float, bounds)), mean_interval(curves[:, point], level=0.9))


@given(SCORES, LEVEL)
def test_mean_interval_is_that_of_scipy(values: list[float], level: float) -> None:
    assume(len(set(values)) > 1)
    expected = stats.ttest_1samp(values, 0).confidence_interval(level)
    assert_interval(mean_interval(values, level=level), (expected.low, np.mean(values), expected.high))


@given(SCORES, SCORES, LEVEL)
def test_difference_is_that_of_scipy(a: list[float], b: list[float], level: float) -> None:
    assume(len(set(a)) > 1 and len(set(b)) > 1)  # of equal values scipy warns
    expected = stats.ttest_ind(a, b, equal_var=False).confidence_interval(level)
    found = difference(a, b, level=level)
    assert_interval(found, (expected.low, np.mean(a) - np.mean(b), expected.high))
    assert_interval(pooled_difference([(a, b)], level=level), found)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=4), LEVEL)
def test_pooled_difference_follows_welch_and_satterthwaite(
    pairs: list[tuple[list[float], list[float]]], level: float
) -> None:
    """Scores of one seed, at the same place in lists of the same length, are added first."""
    groups = []
    for side in range(2):
        for count in {len(pair[side]) for pair in pairs}:
            alike = [pair[side] for pair in pairs if len(pair[side]) == count]
            groups.append([sum(scores[seed] for scores in alike) / len(pairs) for seed in range(count)])
    assume(all(np.ptp(scores) > 1e-6 for scores in groups))
    variances = np.array([np.var(scores, ddof=1) / len(scores) for scores in groups])
    freedoms = np.array([len(scores) - 1 for scores in groups])
    freedom = variances.sum() ** 2 / np.sum(variances**2 / freedoms)
    estimate = np.mean([np.mean(a) - np.mean(b) for a, b in pairs])
    half = stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(variances.sum())
    assert_interval(pooled_difference(pairs, level=level), (estimate - half, estimate, estimate + half))


@given(SCORES)
def test_a_published_mean_counts_as_its_seeds_would(values: list[float]) -> None:
    theirs = [1.0, 2.0, 6.0]
    expected = difference(values, theirs)
    assert_interval(difference_from(values, 3.0, float(np.std(theirs, ddof=1)), 3), expected, 100)


def test_a_rise_is_the_share_of_pairs_in_which_the_later_wins() -> None:
    assert total(rise_terms([[1.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.0]])) == (1.0, 1.0, 1.0)
    assert total(rise_terms([[1.0] * 3, [1.0] * 3])).estimate == 0.5
    rng = np.random.default_rng(0)
    samples = [rng.integers(0, 9, size).astype(float) for size in (4, 6, 5)]
    pairs = [probability_of_improvement([samples[j]], [samples[i]]) for i, j in ((0, 1), (0, 2), (1, 2))]
    rise = total(rise_terms(samples))
    assert rise.estimate == pytest.approx(np.mean(pairs))
    assert total(rise_terms(samples[::-1])).estimate == pytest.approx(1 - rise.estimate)
    assert total(rise_terms(samples[::-1])).low == pytest.approx(1 - rise.high)
    two = rise_terms(samples[:2])  # of two samples the variance is DeLong's
    earlier, later = samples[:2]
    of_later = [np.mean(earlier < x) + np.mean(earlier == x) / 2 for x in later]
    of_earlier = [np.mean(later > x) + np.mean(later == x) / 2 for x in earlier]
    delong = np.var(of_later, ddof=1) / len(later) + np.var(of_earlier, ddof=1) / len(earlier)
    assert sum(term.variance for term in two) == pytest.approx(delong)


def test_a_spread_is_near_the_deviation_and_does_not_depend_on_the_number_of_seeds() -> None:
    rng = np.random.default_rng(0)
    for count in (3, 10):
        spreads = [spread_term(rng.normal(7, 2, count)).estimate for _ in range(4_000)]
        assert np.mean(spreads) == pytest.approx(2 * sqrt(2 / np.pi), rel=0.03)  # the mean |x| of a normal x
    assert spread_term([3.0, 3.0, 3.0]).estimate == 0


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize(
    "kind",
    [
        "mean",
        "mean over five cells of differences",
        "interquartile mean",
        "interquartile mean over five cells",
        "probability of improvement",
        "probability of improvement over five cells, seeds shared",
        "how often the larger of five memories wins",
    ],
)
def test_intervals_cover_the_truth_of_normal_scores_with_few_seeds(kind: str, size: int) -> None:
    assert coverage(kind, "normal", size, 600) > 0.94 - 2 * sqrt(0.95 * 0.05 / 600)


def test_the_bootstrap_that_is_not_used_would_not_pass() -> None:
    for size in (3, 5):
        assert coverage("percentile bootstrap of a mean (not used)", "normal", size, 300) < 0.9


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1_000):
        found = pooled_difference([(rng.normal(2, 1, 5), rng.normal(0, 3, 4)), (rng.normal(0, 2, 3), np.ones(3))])
        covered += not found.above(0.5) and not found.below(0.5)  # the mean of 2 and −1
    assert covered == pytest.approx(950, abs=4 * sqrt(1_000 * 0.95 * 0.05))


def test_equal_values_have_no_width() -> None:
    low, estimate, high = mean_interval([0.1] * 3)
    assert low == estimate == high == pytest.approx(0.1)
    assert difference([3.0] * 3, [1.0] * 4) == interquartile_interval([[2.0] * 5]) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize("count", [3, 10, 20])
def test_shares_that_are_all_alike_leave_room_for_what_was_not_seen(count: int) -> None:
    none, all_of_them = share_interval(np.zeros(count)), share_interval(np.ones(count))
    assert (none.low, none.estimate, all_of_them.estimate, all_of_them.high) == (0, 0, 1, 1)
    assert (1 - none.high) ** count == pytest.approx(0.025)  # as likely as that are so many zeros at that mean
    assert all_of_them.low == pytest.approx(1 - none.high)
    assert share_interval(np.zeros(count), level=0.99).high > none.high


def test_shares_that_differ_have_students_interval_between_0_and_1() -> None:
    inside, low, high = [0.4, 0.5, 0.55], [0.0, 0.0, 1.0], [0.5] * 3
    assert share_interval(inside) == mean_interval(inside)
    assert share_interval(low) == (0.0, mean_interval(low).estimate, 1.0)
    assert share_interval(high) == (0.5, 0.5, 0.5)
    assert not share_interval([0.0, 0.0]).bounded
    with pytest.raises(InvalidInputError, match=r"values must lie between 0 and 1, got 0 to 1\.5"):
        share_interval([0.0, 1.5])


def test_below_three_runs_there_is_no_interval() -> None:
    one, two, three = [2.0], [1.0, 3.0], [1.0, 2.0, 3.0]
    for few in (one, two):
        assert mean_interval(few) == interquartile_interval([few]) == (-inf, 2.0, inf)
        assert difference(few, three) == difference(three, few) == (-inf, 0.0, inf)
        assert pooled_difference([(three, three), (few, three)]) == (-inf, 0.0, inf)
        assert difference_from(three, 2.0, 1.0, len(few)) == (-inf, 0.0, inf)
        assert total([spread_term(few)]).bounded is total(rise_terms([three, few])).bounded is False
        band = curve_interval(np.transpose([few]))
        assert [each.tolist() for each in band] == [[-inf], [2.0], [inf]]
    assert mean_interval(three).bounded
    assert interquartile_interval([three, two]) == (-inf, 2.0, inf)


@given(SCORES, SCORES, SCORE, st.sampled_from([-2.0, 0.5, 4.0]))
def test_t_intervals_shift_scale_and_mirror(a: list[float], b: list[float], shift: float, scale: float) -> None:
    x, y = np.array(a), np.array(b)
    found = difference(x, y)
    size = 100 + found.high - found.low
    assert_interval(difference(x + shift, y), moved(found, 1, shift), size)
    assert_interval(difference(scale * x, scale * y), moved(found, scale), size)
    assert_interval(difference(y, x), moved(found, -1), size)
    assert_interval(mean_interval(scale * x + shift), moved(mean_interval(x), scale, shift), size)
    pooled = pooled_difference([(x, y), (y, x + shift)])
    assert_interval(pooled_difference([(y, x), (x + shift, y)]), moved(pooled, -1), size)
    assert pooled.estimate == pytest.approx(-shift / 2)


@given(st.lists(SCORES, min_size=1, max_size=3), SCORE, st.sampled_from([-2.0, 0.5, 4.0]))
def test_interquartile_intervals_shift_and_scale(strata: list[list[float]], shift: float, scale: float) -> None:
    found = interquartile_interval(strata)
    scaled = [scale * np.array(scores) + shift for scores in strata]
    assert_interval(interquartile_interval(scaled), moved(found, scale, shift), 1e3 + found.high - found.low)


def test_intervals_say_what_they_hold() -> None:
    found = Interval(8.1, 12.3, 16.0)
    assert str(found) == f"{found}" == "12.3 [8.1, 16.0]"
    assert f"{Interval(0.25, 0.5, 0.75):.2f}" == "0.50 [0.25, 0.75]"
    assert str(Interval(-inf, 1.0, inf)) == "1.0 (too few runs for an interval)"
    assert found.above(8.0)
    assert not found.above(8.1)
    assert found.below(16.1)
    assert not found.below(16.0)


GOOD = [1.0, 2.0, 4.0]
HOLED = [1.0, float("nan")]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: interquartile_mean([]), r"values must be not empty, got shape \(0,\)"),
        (lambda: interquartile_mean([GOOD, [0.0, inf, 1.0]]), r"values must be finite, got inf at index \[1, 1\]"),
        (lambda: mean_interval([]), r"values must be 1-D and not empty, got shape \(0,\)"),
        (lambda: mean_interval(HOLED), r"values must be finite, got nan at index \[1\]"),
        (lambda: mean_interval(GOOD, level=95), "level must lie between 0 and 1, got 95"),
        (lambda: difference(GOOD, HOLED), "b must be finite, got nan"),
        (lambda: difference([GOOD], GOOD), r"a must be 1-D and not empty, got shape \(1, 3\)"),
        (lambda: pooled_difference([]), "pairs must hold at least one pair of scores, got none"),
        (lambda: pooled_difference([(GOOD, GOOD), (HOLED, GOOD)]), "a of pair 1 must be finite, got nan"),
        (lambda: interquartile_interval([]), "strata must hold at least one stratum of scores, got none"),
        (lambda: interquartile_interval(GOOD), r"stratum 0 of strata must be 1-D .* got shape \(\)"),
        (lambda: interquartile_interval([GOOD, HOLED]), "stratum 1 of strata must be finite, got nan"),
        (lambda: rise_terms([GOOD]), "at least two samples, got 1"),
        (lambda: rise_terms([GOOD, HOLED]), "sample 1 must be finite, got nan"),
        (lambda: curve_interval(GOOD), r"curves must be 2-D and not empty, got shape \(3,\)"),
        (lambda: curve_interval([GOOD, [0.0, float("nan"), 0.0]]), r"curves must be finite, got nan at index \[1, 1\]"),
        (lambda: curve_interval(np.empty((0, 3))), r"got shape \(0, 3\)"),
    ],
)
def test_what_cannot_be_used_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        call()


def test_without_scipy_the_extra_is_named() -> None:
    code = "import sys; sys.modules['scipy'] = None; import engram.lab.statistics"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert 'MissingExtraError: statistics need scipy: pip install "engram-rl[report]"' in done.stderr


@given(st.lists(SCORE, min_size=2, max_size=3), st.lists(SCORE, min_size=2, max_size=3))
def test_permutation_test_is_the_share_of_orders_with_as_large_a_gap(a: list[float], b: list[float]) -> None:
    n = len(a)
    gap = abs(np.mean(a) - np.mean(b))
    orders = [np.array(order) for order in permutations([*a, *b])]
    as_large = [abs(order[:n].mean() - order[n:].mean()) >= gap - 1e-6 for order in orders]
    assert permutation_test(a, b) == pytest.approx(np.mean(as_large))


def test_permutation_test_of_many_seeds_draws_the_same_divisions_every_time() -> None:
    a, b, c = ([float(i + shift) for i in range(20)] for shift in (0, 6, 100))
    p = permutation_test(a, b)
    assert p == permutation_test(a, b)
    assert 0.0005 < p < 0.01  # the t-test says 0.003
    assert permutation_test(a, c) == pytest.approx(1 / 20_001)


def test_rounding_does_not_undo_ties_of_a_permutation_test() -> None:
    """Of these scores 10 of the 70 divisions have the gap of the one given; not all come out the same in floats."""
    a, b = [500.4, 500.3, 500.3, 500.3], [500.4, 500.4, 500.5, 500.4]
    tenths = [[round(10 * value) for value in group] for group in (a, b)]
    assert permutation_test(a, b) == permutation_test(*tenths) == pytest.approx(8 / 70)


def test_a_permutation_test_needs_two_scores_of_each() -> None:
    with pytest.raises(InvalidInputError, match="needs two scores of each, got 1 and 3"):
        permutation_test([1.0], [1.0, 2.0, 3.0])
