"""Estimates over seeds with intervals that cover what they say from three seeds upwards, and a test.

Most numbers here are sums of independent terms, each with an estimate and its variance, and get the interval of
Student, Welch and Satterthwaite; interquartile means get Yuen's. How probably one score is above another is in
`engram.lab.improvement`. Of normal scores the 95 % intervals hold the truth at least 94 times in 100; of other scores
they are approximate, and `results/power/coverage.md` says by how much. Below three runs of a kind there is no interval:
its bounds are infinite.

Runs of one seed at several memory sizes begin alike, so they are not independent: where several samples are averaged,
scores at the same place in samples of the same length count as those of one seed, and are added before their variance
is taken.
"""

from collections.abc import Iterable, Sequence
from math import inf, isfinite, sqrt
from typing import NamedTuple, overload

import numpy as np
import numpy.typing as npt

from engram.errors import InvalidInputError, MissingExtraError
from engram.typing import Doubles

try:
    from scipy import special, stats
except ModuleNotFoundError as error:
    raise MissingExtraError('statistics need scipy: pip install "engram-rl[report]"') from error

Strata = Iterable[npt.ArrayLike]  # of each stratum (an environment, say) the scores over seeds, 1-D
FEWEST = 3  # runs of each kind that an interval needs
MOST_DIVISIONS = 20_000  # of scores into two groups: all are tried up to this many; beyond it, so many at random


class Interval(NamedTuple):
    """An estimate, and between which values the truth lies at the level asked for."""

    low: float
    estimate: float
    high: float

    @property
    def bounded(self) -> bool:
        """Whether there were runs enough for an interval."""
        return isfinite(self.high - self.low)

    def above(self, value: float) -> bool:
        """Whether the whole interval lies above the value."""
        return self.low > value

    def below(self, value: float) -> bool:
        """Whether the whole interval lies below the value."""
        return self.high < value

    def __format__(self, spec: str) -> str:
        low, estimate, high = (format(each, spec or ".1f") for each in self)
        if not self.bounded:
            return f"{estimate} (too few runs for an interval)"
        return f"{estimate} [{low}, {high}]"

    def __str__(self) -> str:
        return format(self)


class Band(NamedTuple):
    """An interval at each point of a curve, [T]."""

    low: Doubles
    estimate: Doubles
    high: Doubles


class Term(NamedTuple):
    """One of several independent estimates that make a sum."""

    estimate: float
    variance: float  # of the estimate
    freedom: float  # degrees of freedom of the variance; 0 where there are too few runs to know it

    def times(self, factor: float) -> "Term":
        """So many times the term."""
        return Term(factor * self.estimate, factor**2 * self.variance, self.freedom)


def total(terms: Iterable[Term], *, level: float = 0.95) -> Interval:
    """The sum of independent terms, with the Welch–Satterthwaite interval."""
    parts, upper = list(terms), (1 + checked_level(level)) / 2
    estimate, variance = (float(sum(column)) for column in list(zip(*parts, strict=True))[:2])
    if any(part.freedom == 0 for part in parts):
        return Interval(-inf, estimate, inf)
    if variance == 0:
        return Interval(estimate, estimate, estimate)
    # ν = (Σ vᵢ)² / Σ vᵢ²/νᵢ
    freedom = 1 / sum((part.variance / variance) ** 2 / part.freedom for part in parts)
    half = float(special.stdtrit(freedom, upper)) * sqrt(variance)
    return Interval(estimate - half, estimate, estimate + half)


def mean_term(values: npt.ArrayLike, name: str = "values") -> Term:
    """The mean of some scores."""
    found = _numbers(values, name)
    return Term(float(found.mean()), _variance(found) / len(found), _freedom(len(found)))


def weighted_terms(parts: Iterable[tuple[float, npt.ArrayLike]], name: str = "values") -> list[Term]:
    """The sum of so many times the mean of each sample; scores of the same seed are added first."""
    sums: dict[int, Doubles] = {}
    for number, (weight, values) in enumerate(parts):
        found = _numbers(values, f"{name} {number}")
        sums[len(found)] = sums.get(len(found), 0.0) + weight * found
    return [mean_term(scores) for scores in sums.values()]


def spread_term(values: npt.ArrayLike, name: str = "values") -> Term:
    """The mean distance of scores from their mean (Levene), enlarged as a standard deviation with ddof 1 is."""
    found = _numbers(values, name)
    count = len(found)
    distances = sqrt(count / max(count - 1, 1)) * np.abs(found - found.mean())
    # as they add up to 0 with their signs, one of the distances is not free
    variance = _variance(distances) / max(count - 1, 1)
    return Term(float(distances.mean()), variance, count - 2 if count >= FEWEST else 0)


def rise_terms(samples: Sequence[npt.ArrayLike]) -> list[Term]:
    """How often a score of a later sample beats one of an earlier (ties count half), over all pairs of samples.

    This is Jonckheere's statistic as a share: 1 where every later score is higher, 0.5 where nothing rises. A term is
    what samples of one length contribute, its variance that of the placements of their scores among the others'
    (DeLong), those of a seed added.
    """
    given = [_numbers(each, f"sample {number}") for number, each in enumerate(samples)]
    if len(given) < 2:
        raise InvalidInputError(f"a rise needs at least two samples, got {len(given)}")
    pairs = len(given) * (len(given) - 1) / 2
    placements = []
    for place, own in enumerate(given):
        shares = [beats(own, earlier) for earlier in given[:place]]
        shares += [1 - beats(own, later) for later in given[place + 1 :]]
        placements.append(np.sum(shares, axis=0) / pairs)  # [scores]
    # each pair is in the placements of both of its samples, hence half the mean
    terms = weighted_terms((1.0, each) for each in placements)
    return [Term(term.estimate / 2, term.variance, term.freedom) for term in terms]


def mean_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean, with Student's t interval."""
    return total([mean_term(values)], level=level)


def share_interval(values: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """Mean of scores between 0 and 1, with Student's t interval cut off there; it has a width also where all are 0.

    If the mean is μ, all n scores are 0 with a probability of at most (1 − μ)ⁿ, so that μ may be as large as
    1 − (α/2)^(1/n). The same holds of 1 − μ where all are 1.
    """
    found = _numbers(values, "values")
    if found.min() < 0 or found.max() > 1:
        raise InvalidInputError(f"values must lie between 0 and 1, got {found.min():g} to {found.max():g}")
    low, estimate, high = mean_interval(found, level=level)
    if len(found) < FEWEST:
        return Interval(low, estimate, high)
    unseen = 1 - ((1 - level) / 2) ** (1 / len(found))
    low, high = max(low, 0.0), min(high, 1.0)
    return Interval(1 - unseen if found.min() == 1 else low, estimate, unseen if found.max() == 0 else high)


def difference(a: npt.ArrayLike, b: npt.ArrayLike, *, level: float = 0.95) -> Interval:
    """mean(a) − mean(b), with Welch's t interval."""
    return total([mean_term(a, "a"), mean_term(b, "b").times(-1)], level=level)


def difference_from(values: npt.ArrayLike, mean: float, std: float, count: int, *, level: float = 0.95) -> Interval:
    """mean(values) − a mean of which only the standard deviation (ddof 1) and the number of values are known."""
    return total([mean_term(values), Term(-mean, std**2 / count, _freedom(count))], level=level)


def pooled_difference(pairs: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]], *, level: float = 0.95) -> Interval:
    """Mean over cells, each a pair (a, b), of mean(a) − mean(b), with the Welch–Satterthwaite interval."""
    cells = list(pairs)
    if not cells:
        raise InvalidInputError("pairs must hold at least one pair of scores, got none")
    ours = weighted_terms(((1 / len(cells), a) for a, _ in cells), "a of pair")
    theirs = weighted_terms(((-1 / len(cells), b) for _, b in cells), "b of pair")
    return total([*ours, *theirs], level=level)


def curve_interval(curves: npt.ArrayLike, *, level: float = 0.95) -> Band:
    """Mean over curves [seeds, T] at each point, with Student's t interval.

    The interval covers each point by itself, not the curve as a whole.
    """
    points = _numbers(curves, "curves", 2)
    seeds, estimate = len(points), points.mean(axis=0)
    if seeds < FEWEST:
        return Band(np.full_like(estimate, -inf), estimate, np.full_like(estimate, inf))
    quantile = float(special.stdtrit(seeds - 1, (1 + checked_level(level)) / 2))
    half = np.where(np.ptp(points, axis=0) > 0, quantile * points.std(axis=0, ddof=1) / sqrt(seeds), 0.0)
    return Band(estimate - half, estimate, estimate + half)


@overload
def interquartile_mean(values: npt.ArrayLike, *, axis: None = None) -> float: ...
@overload
def interquartile_mean(values: npt.ArrayLike, *, axis: int) -> Doubles: ...
def interquartile_mean(values: npt.ArrayLike, *, axis: int | None = None) -> float | Doubles:
    """Mean of what is left without the lowest and the highest quarter (each ⌊n/4⌋ values)."""
    trimmed: float | Doubles = stats.trim_mean(_numbers(values, "values", None), 0.25, axis=axis)
    return trimmed


def interquartile_interval(strata: Strata, *, level: float = 0.95) -> Interval:
    """Interquartile mean of the scores of all strata put together, with Yuen's interval.

    The lowest and the highest quarter are set to the nearest score that is left; the variance of what results, within
    each stratum or summed over those that share their seeds, is that of the mean.
    """
    given = strata_of(strata, "strata")
    every = np.sort(np.concatenate(given))
    count, cut = len(every), len(every) // 4
    left = count - 2 * cut
    terms = [Term(float(every[cut : count - cut].mean()), 0.0, inf)]
    sums: dict[int, Doubles] = {}
    for scores in given:
        drawn_in = np.clip(scores, every[cut], every[count - 1 - cut])
        sums[len(scores)] = sums.get(len(scores), 0.0) + drawn_in
    for scores in sums.values():
        variance = len(scores) * _variance(scores) / left**2
        if left > 1:  # one stratum: (n − 1) s² / h(h − 1), with h scores left
            variance *= (count - 1) / count * left / (left - 1)
        freedom = max(len(scores) * left / count - 1, 1.0) if len(scores) >= FEWEST else 0
        terms.append(Term(0.0, variance, freedom))
    return total(terms, level=level)


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


def beats(a: Doubles, b: Doubles) -> Doubles:
    """For each score of `a`, the share of those of `b` that it beats; ties count half."""
    won: Doubles = (a[:, None] > b).mean(axis=1) + (a[:, None] == b).mean(axis=1) / 2
    return won


def _variance(values: Doubles) -> float:
    """With ddof 1; that of equal values is zero, whatever rounding makes of it."""
    if (values == values[0]).all():
        return 0.0
    deviations = values - values.mean()
    return float(deviations @ deviations) / (len(values) - 1)


def _freedom(count: int) -> int:
    return count - 1 if count >= FEWEST else 0


def checked_level(level: float) -> float:
    """A level, if it is one."""
    if not 0 < level < 1:
        raise InvalidInputError(f"level must lie between 0 and 1, got {level}")
    return level


def _numbers(values: npt.ArrayLike, name: str, dimensions: int | None = 1) -> Doubles:
    found = np.asarray(values, np.float64)
    if found.size == 0 or dimensions not in {None, found.ndim}:
        wanted = "" if dimensions is None else f"{dimensions}-D and "
        raise InvalidInputError(f"{name} must be {wanted}not empty, got shape {found.shape}")
    if not np.isfinite(found).all():
        where = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise InvalidInputError(f"{name} must be finite, got {found[where]} at index {list(where)}")
    return found


def strata_of(strata: Strata, name: str) -> list[Doubles]:
    """The scores of every stratum, if they can be used."""
    found = [_numbers(scores, f"stratum {number} of {name}") for number, scores in enumerate(strata)]
    if not found:
        raise InvalidInputError(f"{name} must hold at least one stratum of scores, got none")
    return found
