"""How much memory a score needs, against a fine grid of sizes: on plateaus, steps and curves that fall."""

from math import exp, inf, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.lab.memory_needed import memory_for, needed_memory

SUR_IN_THE_OPEN_ROOM = {2: 0.0, 5: 0.0, 10: 0.0, 25: 0.0, 50: 0.0, 100: 1.0, 150: 1.0, 200: 1.0}


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=6), st.integers(-14, 14).map(lambda n: n / 4))
def test_a_score_needs_the_smallest_memory_on_a_fine_grid_that_has_it(means: list[float], score: float) -> None:
    """Few values, so that curves have flat parts, fall, and meet scores exactly."""
    sizes = [3.0**i for i in range(len(means))]
    grid = np.linspace(0, np.log(sizes[-1]), 600 * max(len(means) - 1, 1) + 1)
    curve = np.interp(grid, np.log(sizes), means)
    enough = np.flatnonzero(curve >= score - 1e-9)
    found = memory_for({int(size): mean for size, mean in zip(sizes, means, strict=True)}, score)
    if len(enough) == 0:
        assert found == inf
    else:
        assert log(found) == pytest.approx(grid[enough[0]], abs=3e-3)


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
    assert at(falling, 17.5) == pytest.approx(sqrt(100 * 200))
    only_down = needed_memory({50: 10.0, 100: 5.0})
    assert (only_down.scores.tolist(), only_down.sizes.tolist()) == ([10.0], [pytest.approx(50)])
    assert needed_memory({50: 3.0}).scores.tolist() == [3.0]


def test_after_a_fall_the_way_up_begins_where_it_fell_to() -> None:
    falling = {25: 0.07, 50: 0.01, 100: 0.13}
    assert at(falling, 0.10) == pytest.approx(50 * 2 ** (9 / 12))
    assert memory_for(falling, 0.10) == pytest.approx(50 * 2 ** (9 / 12))
    assert memory_for(falling, 0.14) == inf


@given(st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=8), st.floats(0, 1))
def test_the_line_says_what_each_score_needs(means: list[float], part: float) -> None:
    by_size = {2**i: mean for i, mean in enumerate(means)}
    line = needed_memory(by_size)
    assert (line.scores[0], line.scores[-1]) == (means[0], max(means))
    assert (np.diff(line.sizes) >= 0).all()
    level = means[0] + part * (max(means) - means[0])
    assert at(by_size, level) == pytest.approx(memory_for(by_size, level), rel=1e-6)
