"""Estimates over seeds with intervals: the stratified bootstrap as in rliable, Student's and Welch's t; a test."""

from collections.abc import Callable, Iterable
from math import inf, isfinite, sqrt
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from engram.errors import InvalidInputError, MissingExtraError
from engram.typing import Array, Doubles

try:
    from scipy import stats
except ModuleNotFoundError as error:
    raise MissingExtraError('statistics need scipy: pip install "engram-rl[report]"') from error

Strata = Iterable[npt.ArrayLike]  # of each stratum (an environment, say) the scores over seeds, 1-D
MOST_DIVISIONS = 20_000  # of scores into two groups: all are tried up to this many; beyond it, so many at random
NUMBERS_AT_ONCE = 2**20  # of resampled curves: 8 MiB


class Interval(NamedTuple):
    """An estimate, and between which values the truth lies at the level asked for."""

    low: float
    estimate: float
    high: float

    def above(self, value: float) -> bool:
        """Whether the whole interval lies above the value."""
        return self.low > value

    def below(self, value: float) -> bool:
        """Whether the whole interval lies below the value."""
        return self.high < value

    def __format__(self, spec: str) -> str:
        low, estimate, high = (format(each, spec or ".1f") for each in self)
        if not isfinite(self.high - self.low):
            return f"{estimate} (too few runs for an interval)"
        return f"{estimate} [{low}, {high}]"

    def __str__(self) -> str:
        return format(self)


class Band(NamedTuple):
    """An interval at each point of a curve, [T]."""

    low: Doubles
    estimate: Doubles
    high: Doubles


class _Part(NamedTuple):
    """One of several independent estimates that make a sum."""

    estimate: float
    variance: float  # of the estimate
    freedom: int  # degrees of freedom of the variance

    def times(self, factor: float) -> "_Part":
        return _Part(factor * self.estimate, factor**2 * self.variance, self.freedom)


@overload
def interquartile_mean(values: npt.ArrayLike, *, axis: None = None) -> float: ...
@overload
def interquartile_mean(values: npt.ArrayLike, *, axis: int) -> Doubles: ...
def interquartile_mean(values: npt.ArrayLike, *, axis: int | None = None) -> float | Doubles:
    """Mean of what is left without the lowest and the highest quarter (each ⌊n/4⌋ values)."""
    trimmed: float | Doubles = stats.trim_mean(_numbers(values, "values", None), 0.25, axis=axis)
    return trimmed


def pooled_interquartile_mean(strata: Iterable[Doubles]) -> Doubles:
    """Interquartile mean over the last axis of all strata put together: a statistic for the bootstrap."""
    return interquartile_mean(np.concatenate(list(strata), axis=-1), axis=-1)


def stratified_bootstrap(
    statistic: Callable[..., Array],
    *groups: Strata,
    level: float = 0.95,
    repetitions: int = 10_000,
    seed: int = 0,
) -> Interval:
    """Percentile interval of a statistic, every stratum of every group resampled on its own.

    The statistic gets each group as a list of arrays [..., seeds], one per stratum, and gives [...]: it works over
    the last axis and keeps those before. It is called twice: with the scores themselves, [seeds], for the estimate,
    and with all resamples, [repetitions, seeds]. How far the mean over strata of `a` lies above that of `b`:

        def gap(a, b):
            return np.mean([x.mean(-1) for x in a], axis=0) - np.mean([y.mean(-1) for y in b], axis=0)

        stratified_bootstrap(gap, a, b)

    A stratum with a single score says nothing of its spread, which makes the interval infinite.
    """
    tails = _tails(level, repetitions)
    given = [_strata(group, f"group {number}") for number, group in enumerate(groups)]
    estimate = float(statistic(*given))
    if any(len(scores) == 1 for group in given for scores in group):
        return Interval(-inf, estimate, inf)
    rng = np.random.default_rng(seed)
    resampled = [[x[rng.integers(len(x), size=(repetitions, len(x)))] for x in group] for group in given]
    found = np.asarray(statistic(*resampled))
    if found.shape != (repetitions,):
        raise InvalidInputError(f"the statistic must reduce the last axis only, got {found.shape} for {repetitions=}")
    low, high = np.quantile(found, tails)
    return Interval(float(low), estimate, float(high))


def curve_interval(
    curves: npt.ArrayLike,
    statistic: Callable[..., Array] = np.mean,
    *,
    level: float = 0.95,
    repetitions: int = 10_000,
    seed: int = 0,
) -> Band:
    """Percentile interval at each point of curves [seeds, T], whole curves resampled over seeds.

    The statistic must know `axis` and not mind the order: `np.mean`, `interquartile_mean`. The interval covers each
    point by itself, not the curve as a whole; with one seed it is infinite.
    """
    tails = _tails(level, repetitions)
    points = _numbers(curves, "curves", 2).T  # [T, seeds]
    length, seeds = points.shape
    estimate = statistic(points, axis=-1)
    if seeds == 1:
        return Band(np.full(length, -inf), estimate, np.full(length, inf))
    drawn = np.random.default_rng(seed).integers(seeds, size=(repetitions, seeds))
    # few seeds have few resamples that differ in more than order (five have 126): each is evaluated once
    distinct, which = np.unique(np.sort(drawn, axis=1), axis=0, return_inverse=True)
    at_once = max(1, NUMBERS_AT_ONCE // max(distinct.size, repetitions))
    bounds = np.empty((2, length))
    for start in range(0, length, at_once):
        here = slice(start, start + at_once)
        values = statistic(points[here][:, distinct], axis=-1)  # [points, distinct]
        bounds[:, here] = np.quantile(values[:, which.ravel()], tails, axis=1)
    return Band(bounds[0], estimate, bounds[1])


def mean_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean, with Student's t interval."""
    return _total([_mean(values, "values")], level)


def difference(a: npt.ArrayLike, b: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """mean(a) − mean(b), with Welch's t interval: infinite if either is a single value."""
    return _total([_mean(a, "a"), _mean(b, "b").times(-1)], level)


def difference_from(values: npt.ArrayLike, mean: float, std: float, count: int, *, level: float = 0.95) -> Interval:
    """mean(values) − a mean of which only the standard deviation (ddof 1) and the number of values are known."""
    return _total([_mean(values, "values"), _Part(-mean, std**2 / count, count - 1)], level)


def pooled_difference(pairs: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]], *, level: float = 0.95) -> Interval:
    """Mean over cells, each a pair (a, b), of mean(a) − mean(b), with the Welch–Satterthwaite interval."""
    cells = [(_mean(a, f"a of pair {i}"), _mean(b, f"b of pair {i}").times(-1)) for i, (a, b) in enumerate(pairs)]
    if not cells:
        raise InvalidInputError("pairs must hold at least one pair of scores, got none")
    return _total([part.times(1 / len(cells)) for cell in cells for part in cell], level)


def slope(x: npt.ArrayLike, y: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """Least-squares slope of y on x, with Student's t interval: infinite for two points."""
    return _total([_slope(x, y)], level)


def slope_difference(
    x1: npt.ArrayLike, y1: npt.ArrayLike, x2: npt.ArrayLike, y2: npt.ArrayLike, *, level: float = 0.95
) -> Interval:
    """Slope of y1 on x1 less that of y2 on x2, with the Welch–Satterthwaite interval."""
    return _total([_slope(x1, y1), _slope(x2, y2).times(-1)], level)


def probability_of_improvement(a_strata: Strata, b_strata: Strata) -> float:
    """How often a score of `a` beats one of `b` in the same stratum (ties count half), averaged over strata."""
    return float(_improvement(_strata(a_strata, "a"), _strata(b_strata, "b")))


def improvement_interval(
    a_strata: Strata, b_strata: Strata, *, level: float = 0.95, repetitions: int = 10_000, seed: int = 0
) -> Interval:
    """Probability of improvement, with its bootstrap interval: no width where the scores do not overlap at all."""
    a_and_b = _strata(a_strata, "a"), _strata(b_strata, "b")
    found = stratified_bootstrap(_improvement, *a_and_b, level=level, repetitions=repetitions, seed=seed)
    return Interval(max(found.low, 0.0), found.estimate, min(found.high, 1.0))


def permutation_test(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """The two-sided p: how often dividing the same scores at random gives means at least as far apart."""
    groups = (_numbers(a, "a"), _numbers(b, "b"))
    if min(map(len, groups)) < 2:
        raise InvalidInputError(
            f"a permutation test needs two scores of each, got {len(groups[0])} and {len(groups[1])}"
        )
    unit = 1e-9 * np.ptp(np.concatenate(groups)) or 1.0  # gaps that differ by less are ties, which rounding would undo

    def gap(x: Doubles, y: Doubles, axis: int = -1) -> Doubles:
        return np.asarray(np.round(np.abs(x.mean(axis=axis) - y.mean(axis=axis)) / unit))

    rng = np.random.default_rng(0)
    found = stats.permutation_test(groups, gap, n_resamples=MOST_DIVISIONS, alternative="greater", rng=rng)
    return float(found.pvalue)


def _improvement(a: list[Doubles], b: list[Doubles]) -> Doubles:
    if len(a) != len(b):
        raise InvalidInputError(f"a and b must have the same strata, got {len(a)} of a and {len(b)} of b")
    shares = []
    for x, y in zip(a, b, strict=True):
        ours, theirs = x[..., :, None], y[..., None, :]
        shares.append((ours > theirs).mean(axis=(-2, -1)) + (ours == theirs).mean(axis=(-2, -1)) / 2)
    return np.asarray(np.mean(shares, axis=0))


def _mean(values: npt.ArrayLike, name: str) -> _Part:
    found = _numbers(values, name)
    spread = np.ptp(found) > 0  # the variance of equal values is zero, whatever rounding makes of it
    variance = found.var(ddof=1) / len(found) if spread else 0.0
    return _Part(float(found.mean()), float(variance), len(found) - 1)


def _slope(x: npt.ArrayLike, y: npt.ArrayLike) -> _Part:
    across, up = _numbers(x, "x"), _numbers(y, "y")
    if len(across) != len(up) or np.ptp(across) == 0:
        raise InvalidInputError(
            f"x must hold at least two different values, and y as many as x; got {len(across)} of x "
            f"from {across.min():g} to {across.max():g}, and {len(up)} of y"
        )
    across, up = across - across.mean(), up - up.mean()
    squares = across @ across
    steepness = (across @ up) / squares
    residuals = up - steepness * across
    freedom = len(up) - 2
    variance = residuals @ residuals / freedom / squares if freedom else 0.0
    return _Part(float(steepness), float(variance), freedom)


def _total(parts: list[_Part], level: float) -> Interval:
    _, upper = _tails(level)
    estimate = sum(part.estimate for part in parts)
    variance = sum(part.variance for part in parts)
    if any(part.freedom == 0 for part in parts):
        return Interval(-inf, estimate, inf)
    if variance == 0:
        return Interval(estimate, estimate, estimate)
    # ν = (Σ vᵢ)² / Σ vᵢ²/νᵢ
    freedom = 1 / sum((part.variance / variance) ** 2 / part.freedom for part in parts)
    half = float(stats.t.ppf(upper, freedom)) * sqrt(variance)
    return Interval(estimate - half, estimate, estimate + half)


def _tails(level: float, repetitions: int = 1) -> tuple[float, float]:
    if not 0 < level < 1 or repetitions < 1:
        raise InvalidInputError(f"needs a level between 0 and 1 and a repetition, got {level=}, {repetitions=}")
    return (1 - level) / 2, (1 + level) / 2


def _numbers(values: npt.ArrayLike, name: str, dimensions: int | None = 1) -> Doubles:
    found = np.asarray(values, np.float64)
    if found.size == 0 or dimensions not in {None, found.ndim}:
        wanted = "" if dimensions is None else f"{dimensions}-D and "
        raise InvalidInputError(f"{name} must be {wanted}not empty, got shape {found.shape}")
    if not np.isfinite(found).all():
        where = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise InvalidInputError(f"{name} must be finite, got {found[where]} at index {list(where)}")
    return found


def _strata(strata: Strata, name: str) -> list[Doubles]:
    found = [_numbers(scores, f"stratum {number} of {name}") for number, scores in enumerate(strata)]
    if not found:
        raise InvalidInputError(f"{name} must hold at least one stratum of scores, got none")
    return found
