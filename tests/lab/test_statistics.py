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
from rliable import library, metrics
from scipy import stats

from engram.errors import InvalidInputError
from engram.lab.statistics import (
    Interval,
    curve_interval,
    difference,
    improvement_interval,
    interquartile_mean,
    mean_interval,
    permutation_test,
    pooled_difference,
    pooled_interquartile_mean,
    probability_of_improvement,
    slope,
    slope_difference,
    stratified_bootstrap,
)
from engram.typing import Doubles

SCORE = st.integers(-50, 50).map(float)
SCORES = st.lists(SCORE, min_size=2, max_size=6)
STRATA = st.lists(SCORES, min_size=1, max_size=3)
LEVEL = st.sampled_from([0.5, 0.8, 0.95, 0.99])
REPETITIONS = 20_000  # of rliable's bootstrap; ours has twice as many


def assert_same_bounds(ours: npt.ArrayLike, theirs: npt.ArrayLike) -> None:
    """Bounds agree up to Monte-Carlo error.

    The q-quantile of R draws has the standard error √(q(1 − q)/R) / density there. For a normal distribution and
    q = 2.5 % that is 2.67 σ/√R, where the interval is 3.92 σ wide: 0.68/√R widths. Four such errors are allowed.
    """
    tolerance = 4 * 0.68 * sqrt(1 / REPETITIONS + 1 / (2 * REPETITIONS))  # 2.4 % of the width
    (low, high), (their_low, their_high) = np.asarray(ours), np.asarray(theirs)
    width = their_high - their_low
    assert np.all(width > 0)
    assert np.all(np.abs(low - their_low) < tolerance * width)
    assert np.all(np.abs(high - their_high) < tolerance * width)


def rliable_bounds(scores: Doubles | list[Doubles], function: Callable[..., Doubles]) -> Doubles:
    np.random.seed(1)  # noqa: NPY002 (rliable draws from the global state)
    _, bounds = library.get_interval_estimates({"it": scores}, function, reps=REPETITIONS)
    found: Doubles = bounds["it"]  # [2, T]
    return found


def assert_interval(found: Interval, expected: npt.ArrayLike, size: float = 1.0) -> None:
    np.testing.assert_allclose(np.array(found), np.asarray(expected, np.float64), rtol=1e-9, atol=1e-9 * size)


def moved(interval: Interval, scale: float, shift: float = 0.0) -> Doubles:
    """What the interval of scores becomes when each is scaled and shifted."""
    return scale * np.array(interval if scale > 0 else interval[::-1]) + shift


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.floats(-1e3, 1e3)))
def test_interquartile_mean_is_that_of_rliable(scores: Doubles) -> None:
    expected = metrics.aggregate_iqm(scores)
    assert interquartile_mean(scores) == expected
    assert pooled_interquartile_mean(list(scores)) == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(
        interquartile_mean(scores, axis=0), [metrics.aggregate_iqm(task) for task in scores.T]
    )


@given(
    arrays(np.float64, (4, 3), elements=st.integers(0, 5).map(float)),
    arrays(np.float64, (5, 3), elements=st.integers(0, 5).map(float)),
)
def test_probability_of_improvement_is_that_of_rliable_ties_included(a: Doubles, b: Doubles) -> None:
    expected = metrics.probability_of_improvement(a, b)
    assert probability_of_improvement(a.T, b.T) == pytest.approx(expected, abs=1e-12)


def test_bootstrap_of_the_interquartile_mean_is_that_of_rliable() -> None:
    scores = np.random.default_rng(0).normal([0.0, 1.0, 3.0, 4.0], [1.0, 2.0, 1.0, 0.5], size=(8, 4))
    ours = stratified_bootstrap(pooled_interquartile_mean, scores.T, repetitions=2 * REPETITIONS)
    theirs = rliable_bounds(scores, lambda resampled: np.array([metrics.aggregate_iqm(resampled)]))
    assert ours.estimate == pytest.approx(metrics.aggregate_iqm(scores), abs=1e-12)
    assert_same_bounds((ours.low, ours.high), theirs[:, 0])


def test_bootstrap_of_the_probability_of_improvement_is_that_of_rliable() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.4, size=(12, 3)), rng.normal(0.0, size=(10, 3))
    ours = improvement_interval(a.T, b.T, repetitions=2 * REPETITIONS)
    # its own probability_of_improvement runs a rank test each time: the same number, and 100 times as slow
    theirs = rliable_bounds([a, b], lambda x, y: np.array([np.mean(x[:, None] > y) + np.mean(x[:, None] == y) / 2]))
    assert ours.estimate == pytest.approx(metrics.probability_of_improvement(a, b), abs=1e-12)
    assert_same_bounds((ours.low, ours.high), theirs[:, 0])


def test_bands_of_curves_are_those_of_rliable() -> None:
    curves = np.random.default_rng(0).normal([0.0, 5.0, 6.0], [1.0, 3.0, 0.1], size=(12, 3))
    scores = curves[:, None]  # [runs, tasks, frames]
    by_frame = [metrics.aggregate_iqm(scores[..., frame]) for frame in range(3)]

    def every_frame(resampled: Doubles) -> Doubles:  # as by_frame, and 60 times as fast
        return np.asarray(np.sort(resampled[:, 0], axis=0)[3:9].mean(axis=0))

    np.testing.assert_allclose(every_frame(scores), by_frame, atol=1e-12)
    band = curve_interval(curves, interquartile_mean, repetitions=2 * REPETITIONS)
    np.testing.assert_allclose(band.estimate, by_frame, atol=1e-12)
    assert_same_bounds((band.low, band.high), rliable_bounds(scores, every_frame))
    band = curve_interval(curves, repetitions=2 * REPETITIONS)
    np.testing.assert_allclose(band.estimate, curves.mean(axis=0), atol=1e-12)
    assert_same_bounds((band.low, band.high), rliable_bounds(scores, lambda resampled: resampled.mean(axis=(0, 1))))


def test_strata_of_different_lengths_are_resampled_each_on_its_own() -> None:
    rng = np.random.default_rng(0)
    a = [rng.normal(size=n) for n in (6, 9, 15)]
    b = [rng.normal(size=n) for n in (7, 12)]

    def gap(x: list[Doubles], y: list[Doubles]) -> Doubles:
        ours, theirs = (np.mean([each.mean(-1) for each in group], axis=0) for group in (x, y))
        return np.asarray(ours - theirs)

    ours = stratified_bootstrap(gap, a, b, repetitions=2 * REPETITIONS)
    theirs = stats.bootstrap(
        (*a, *b),
        lambda *scores, axis: gap(list(scores[:3]), list(scores[3:])),
        n_resamples=REPETITIONS,
        method="percentile",
        vectorized=True,
        rng=1,
    ).confidence_interval
    assert_same_bounds((ours.low, ours.high), theirs)


def test_memory_and_few_distinct_resamples_do_not_change_the_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    curves = np.random.default_rng(0).normal(size=(5, 7))
    whole = curve_interval(curves, interquartile_mean, repetitions=500)
    monkeypatch.setattr("engram.lab.statistics.NUMBERS_AT_ONCE", 1_300)
    in_pieces = curve_interval(curves, interquartile_mean, repetitions=500)
    drawn = np.random.default_rng(0).integers(5, size=(500, 5))
    slowly = [[interquartile_mean(curves[rows, point]) for rows in drawn] for point in range(7)]
    expected = np.quantile(slowly, [0.025, 0.975], axis=1)
    for band in (whole, in_pieces):
        np.testing.assert_allclose((band.low, band.high), expected, atol=1e-12)


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
    groups = [scores for pair in pairs for scores in pair]
    assume(all(len(set(scores)) > 1 for scores in groups))
    variances = np.array([np.var(scores, ddof=1) / len(scores) for scores in groups])
    freedoms = np.array([len(scores) - 1 for scores in groups])
    freedom = variances.sum() ** 2 / np.sum(variances**2 / freedoms)
    estimate = np.mean([np.mean(a) - np.mean(b) for a, b in pairs])
    half = stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(variances.sum()) / len(pairs)
    assert_interval(pooled_difference(pairs, level=level), (estimate - half, estimate, estimate + half))


@given(st.lists(st.tuples(SCORE, SCORE), min_size=3, max_size=8), LEVEL)
def test_slope_is_that_of_scipy(points: list[tuple[float, float]], level: float) -> None:
    x, y = np.array(points).T
    assume(np.ptp(x) > 0 and np.ptp(y) > 0)  # of equal values scipy's error is not a number
    expected = stats.linregress(x, y)
    assume(abs(expected.rvalue) < 0.999)  # on a line, it is the root of what rounding leaves
    half = stats.t.ppf((1 + level) / 2, len(x) - 2) * expected.stderr
    assert_interval(slope(x, y, level=level), (expected.slope - half, expected.slope, expected.slope + half))


def test_slope_difference_combines_both_errors() -> None:
    x1, y1, x2, y2 = np.random.default_rng(0).normal(size=(4, 9))
    x2, y2 = x2[:6], y2[:6]
    one, two = stats.linregress(x1, y1), stats.linregress(x2, y2)
    variance = one.stderr**2 + two.stderr**2
    freedom = variance**2 / (one.stderr**4 / 7 + two.stderr**4 / 4)
    estimate, half = one.slope - two.slope, stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    found = slope_difference(x1, y1, x2, y2)
    assert_interval(found, (estimate - half, estimate, estimate + half))
    assert_interval(slope_difference(x2, y2, x1, y1), (-found.high, -found.estimate, -found.low))


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(1_000):
        found = pooled_difference([(rng.normal(2, 1, 5), rng.normal(0, 3, 4)), (rng.normal(0, 2, 3), np.ones(3))])
        covered += not found.above(0.5) and not found.below(0.5)  # the mean of 2 and −1
    assert covered == pytest.approx(950, abs=4 * sqrt(1_000 * 0.95 * 0.05))


def test_equal_values_have_no_width_and_single_values_no_bounds() -> None:
    low, estimate, high = mean_interval([0.1] * 3)
    assert low == estimate == high == pytest.approx(0.1)
    assert_interval(slope([0.0, 1.0, 3.0], [0.5, 1.0, 2.0]), (0.5, 0.5, 0.5))
    assert difference([3.0, 3.0], [1.0, 1.0, 1.0]) == (2.0, 2.0, 2.0)
    assert difference([3.0], [1.0, 2.0]) == difference([3.0, 4.0], [2.0]) == (-inf, 1.5, inf)
    assert difference([3.0], [1.0]) == mean_interval([2.0]) == (-inf, 2.0, inf)
    assert pooled_difference([([3.0], [1.0, 1.0]), ([1.0, 2.0], [1.0, 2.0])]) == (-inf, 1.0, inf)
    assert slope([0.0, 2.0], [1.0, 5.0]) == (-inf, 2.0, inf)
    assert stratified_bootstrap(pooled_interquartile_mean, [[1.0], [2.0, 3.0]]) == (-inf, 2.0, inf)
    assert improvement_interval([[1.0]], [[0.0, 2.0]]) == (0.0, 0.5, 1.0)
    band = curve_interval([[1.0, 2.0]])
    assert [each.tolist() for each in band] == [[-inf, -inf], [1.0, 2.0], [inf, inf]]


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


@given(st.lists(st.tuples(SCORE, SCORE), min_size=3, max_size=6), SCORE, st.sampled_from([-2.0, 0.5, 4.0]))
def test_slopes_scale_and_do_not_shift(points: list[tuple[float, float]], shift: float, scale: float) -> None:
    x, y = np.array(points).T
    assume(np.ptp(x) > 0)
    found = slope(x, y)
    assert_interval(slope(x + shift, scale * y - shift), moved(found, scale), 1e3)
    assert_interval(slope(scale * x, y), moved(found, 1 / scale), 1e3)


@given(STRATA, SCORE, st.sampled_from([-2.0, 0.5, 4.0]), st.integers(0, 3))
def test_bootstrap_shifts_and_scales(strata: list[list[float]], shift: float, scale: float, seed: int) -> None:
    found = stratified_bootstrap(pooled_interquartile_mean, strata, repetitions=50, seed=seed)
    scaled = [scale * np.array(scores) + shift for scores in strata]
    again = stratified_bootstrap(pooled_interquartile_mean, scaled, repetitions=50, seed=seed)
    assert_interval(again, moved(found, scale, shift), 100)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=3))
def test_swapping_gives_the_other_probability(pairs: list[tuple[list[float], list[float]]]) -> None:
    a, b = zip(*pairs, strict=True)
    p = probability_of_improvement(a, b)
    assert probability_of_improvement(b, a) == pytest.approx(1 - p, abs=1e-12)
    assert probability_of_improvement(a, a) == 0.5
    assert improvement_interval(a, b, repetitions=50).estimate == p


def test_swapping_mirrors_the_interval_of_the_probability() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.4, size=(3, 12)), rng.normal(0.0, size=(3, 10))
    one = improvement_interval(a, b, repetitions=2 * REPETITIONS)
    other = improvement_interval(b, a, repetitions=2 * REPETITIONS)
    assert_same_bounds((one.low, one.high), (1 - other.high, 1 - other.low))


def test_the_same_seed_gives_the_same_interval() -> None:
    strata = np.random.default_rng(0).normal(size=(4, 6))

    def every(seed: int) -> list[float]:
        band = curve_interval(strata, repetitions=100, seed=seed)
        return [
            *stratified_bootstrap(pooled_interquartile_mean, strata, repetitions=100, seed=seed),
            *improvement_interval(strata, strata + 0.3, repetitions=100, seed=seed),
            *band.low,
            *band.high,
        ]

    assert every(0) == every(0)
    assert every(0) != every(1)


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
        (lambda: mean_interval(GOOD, level=95), "level=95"),
        (lambda: difference(GOOD, HOLED), "b must be finite, got nan"),
        (lambda: difference([GOOD], GOOD), r"a must be 1-D and not empty, got shape \(1, 3\)"),
        (lambda: pooled_difference([]), "pairs must hold at least one pair of scores, got none"),
        (lambda: pooled_difference([(GOOD, GOOD), (HOLED, GOOD)]), "a of pair 1 must be finite, got nan"),
        (lambda: slope(GOOD, HOLED), "y must be finite, got nan"),
        (lambda: slope(GOOD, [1.0, 2.0]), "3 of x from 1 to 4, and 2 of y"),
        (lambda: slope([2.0, 2.0, 2.0], GOOD), "two different values.* 3 of x from 2 to 2"),
        (lambda: stratified_bootstrap(pooled_interquartile_mean, []), "group 0 must hold .* stratum .* got none"),
        (lambda: stratified_bootstrap(pooled_interquartile_mean, GOOD), r"stratum 0 of group 0 .* got shape \(\)"),
        (lambda: stratified_bootstrap(pooled_interquartile_mean, [GOOD, HOLED]), "stratum 1 of group 0 .* got nan"),
        (lambda: stratified_bootstrap(pooled_interquartile_mean, [GOOD], repetitions=0), "repetitions=0"),
        (lambda: stratified_bootstrap(np.mean, [GOOD]), r"last axis only, got \(\) for repetitions=10000"),
        (lambda: probability_of_improvement([GOOD], [HOLED]), "stratum 0 of b must be finite, got nan"),
        (lambda: improvement_interval([GOOD, GOOD], [GOOD]), "same strata, got 2 of a and 1 of b"),
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
