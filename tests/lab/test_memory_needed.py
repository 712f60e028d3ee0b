"""How much memory a score needs, against a loop over the sizes: on plateaus, steps and curves that fall."""

from collections.abc import Sequence
from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.lab.memory_needed import first_reached, needed_memory

SUR_IN_THE_OPEN_ROOM = {2: 0.0, 5: 0.0, 10: 0.0, 25: 0.0, 50: 0.0, 100: 1.0, 150: 1.0, 200: 1.0}


def reached(curve: Sequence[float], x: Sequence[float], target: float) -> float:
    """Where a curve that never falls first reaches a target, one point after the other."""
    if target <= curve[0]:
        return x[0]
    for i in range(1, len(curve)):
        if curve[i] >= target:
            part = (target - curve[i - 1]) / (curve[i] - curve[i - 1])
            return x[i - 1] + part * (x[i] - x[i - 1])
    return x[-1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(1, 4), st.sampled_from([(), (1,), (7,), (3, 2)]))
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


def at(means: dict[int, float], level: float) -> float:
    """The memory that a score needs, read off the line that a figure draws."""
    needed = needed_memory(means)
    return exp(np.interp(level, needed.scores, np.log(needed.sizes)))


def test_a_plateau_is_of_no_use_for_what_lies_above_it() -> None:
    assert at(SUR_IN_THE_OPEN_ROOM, 0.4) == pytest.approx(50 * 2**0.4)  # 66, and not 9.6
    assert at(SUR_IN_THE_OPEN_ROOM, 0.0) == pytest.approx(2)
    assert at(SUR_IN_THE_OPEN_ROOM, 1e-6) == pytest.approx(50, rel=1e-4)
    assert at(SUR_IN_THE_OPEN_ROOM, 1.0) == pytest.approx(100)


def test_steps_between_plateaus() -> None:
    stairs = {10: 0.0, 20: 0.0, 40: 5.0, 80: 5.0, 160: 9.0}
    assert [at(stairs, level) for level in (0, 2.5, 5, 7, 9)] == pytest.approx(
        [10, sqrt(20 * 40), 40, sqrt(80 * 160), 160]
    )
    assert at(stairs, 5.000001) == pytest.approx(80, rel=1e-3)


def test_a_size_that_scores_lower_than_a_smaller_one_is_passed_over() -> None:
    falling = {50: 10.0, 100: 5.0, 200: 30.0}
    assert at(falling, 10) == pytest.approx(50)
    assert at(falling, 20) == pytest.approx(sqrt(100 * 200))
    only_down = needed_memory({50: 10.0, 100: 5.0})
    assert (only_down.scores.tolist(), only_down.sizes.tolist()) == ([10.0], [pytest.approx(50)])
    assert needed_memory({50: 3.0}).scores.tolist() == [3.0]


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8))
def test_the_line_is_what_a_loop_over_the_sizes_finds(means: list[float]) -> None:
    sizes = [2.0**i for i in range(len(means))]
    best = [max(means[: i + 1]) for i in range(len(means))]
    line = needed_memory(dict(zip(map(int, sizes), means, strict=True)))
    assert (line.scores[0], line.scores[-1]) == (best[0], best[-1])
    for level, size in zip(line.scores, line.sizes, strict=True):
        assert log(size) == pytest.approx(reached(best, [log(each) for each in sizes], float(level)), abs=1e-9)
