"""How probably a score of one kind is above one of another, at several memory sizes or in several environments."""

from collections.abc import Sequence
from math import inf, sqrt

import numpy as np

from engram.errors import InvalidInputError, MissingExtraError
from engram.lab.statistics import FEWEST, Interval, Strata, beats, checked_level, mean_term, strata_of, weighted_terms
from engram.typing import Doubles

try:
    from scipy import optimize, special
except ModuleNotFoundError as error:
    raise MissingExtraError('intervals need scipy: pip install "engram-rl[report]"') from error

TINY = 1e-12  # a probability next to 0
Pairs = Sequence[tuple[Doubles, Doubles]]  # of each stratum, the scores of both kinds


def probability_of_improvement(a_strata: Strata, b_strata: Strata) -> float:
    """How often a score of `a` beats one of `b` in the same stratum (ties count half), averaged over strata."""
    return float(np.mean([beats(x, y).mean() for x, y in _paired(a_strata, b_strata)]))


def improvement_interval(a_strata: Strata, b_strata: Strata, *, level: float = 0.95) -> Interval:
    """Probability of improvement, with Newcombe's interval: it has a width also where the scores do not overlap.

    Each stratum has its own interval; that of their mean is put together from the distances of the bounds from the
    estimates, as if these were errors (MOVER). Where strata share their seeds, it is wider by as much as their
    placements vary more when those of a seed are added.
    """
    pairs = _paired(a_strata, b_strata)
    if min(len(scores) for pair in pairs for scores in pair) < FEWEST:
        return Interval(-inf, probability_of_improvement(*zip(*pairs, strict=True)), inf)
    found = [_newcombe(float(beats(x, y).mean()), len(x), len(y), checked_level(level)) for x, y in pairs]
    low, estimate, high = np.array(found).T
    middle, wider = float(estimate.mean()), _widening(pairs)
    down, up = (wider * sqrt(float(np.sum((bound - estimate) ** 2))) / len(found) for bound in (low, high))
    return Interval(max(middle - down, 0.0), middle, min(middle + up, 1.0))


def _widening(pairs: Pairs) -> float:
    """How much more the mean over strata deviates than if they did not share their seeds; 1 at least.

    The variance is that of the placements of the scores among the others' (DeLong).
    """
    placements = [[beats(x, y) for x, y in pairs], [beats(y, x) for x, y in pairs]]
    apart = sum(mean_term(each).variance for kind in placements for each in kind)
    by_seed = sum(term.variance for kind in placements for term in weighted_terms((1.0, each) for each in kind))
    return sqrt(max(by_seed / apart, 1.0)) if apart > 0 else 1.0


def _newcombe(estimate: float, m: int, n: int, level: float) -> Interval:
    """Newcombe's fifth interval (2006) of the probability that one of m scores beats one of n."""
    quantile = float(special.stdtrit(m + n - 2, (1 + level) / 2))
    mean_count = (m + n) / 2 - 1

    def excess(p: float) -> float:
        """How far p lies from the estimate, less what chance allows if p is the truth; both squared."""
        # V(p) = p (1 − p) (1 + n* (1 − p) / (2 − p) + n* p / (1 + p)) / mn
        variance = p * (1 - p) * (1 + mean_count * ((1 - p) / (2 - p) + p / (1 + p))) / (m * n)
        return (p - estimate) ** 2 - quantile**2 * variance

    low = optimize.brentq(excess, 0.0, min(estimate, 1 - TINY)) if estimate > 0 else 0.0
    high = optimize.brentq(excess, max(estimate, TINY), 1.0) if estimate < 1 else 1.0
    return Interval(float(low), estimate, float(high))


def _paired(a_strata: Strata, b_strata: Strata) -> Pairs:
    a, b = strata_of(a_strata, "a"), strata_of(b_strata, "b")
    if len(a) != len(b):
        raise InvalidInputError(f"a and b must have the same strata, got {len(a)} of a and {len(b)} of b")
    return list(zip(a, b, strict=True))
