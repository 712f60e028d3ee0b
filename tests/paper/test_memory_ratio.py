"""How many times the memory LRU needs: where a curve first reaches a target, against a loop over its points."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engram.paper.memory_ratio import first_reached


def reached(curve: Sequence[float], x: Sequence[float], target: float) -> float:
    """Where a curve that never falls first reaches a target, one point after the other."""
    if target <= curve[0]:
        return x[0]
    for i in range(1, len(curve)):
        if curve[i] >= target:
            part = (target - curve[i - 1]) / (curve[i] - curve[i - 1])
            return x[i - 1] + part * (x[i] - x[i - 1])
    return x[-1]


@given(st.integers(0, 2**32 - 1), st.integers(2, 8), st.integers(1, 4), st.sampled_from([(), (1,), (7,), (3, 2)]))
def test_where_a_curve_first_reaches_a_target(seed: int, points: int, targets: int, shape: tuple[int, ...]) -> None:
    """Few values, so that curves have flat parts and targets that are met exactly."""
    draw = np.random.default_rng(seed)
    x = np.log(np.sort(draw.choice(np.arange(1, 10_000), points, replace=False)))
    curves = np.maximum.accumulate(draw.integers(0, 6, (*shape, points)) / 4, axis=-1)
    wanted = draw.integers(-2, 9, (*shape, targets)) / 4
    found = first_reached(wanted, curves, x)
    assert found.shape == wanted.shape
    for place in np.ndindex(wanted.shape):
        assert found[place] == reached(curves[place[:-1]].tolist(), x.tolist(), float(wanted[place]))
