"""How much of the differences between trials a setting tells."""

import numpy as np
import pytest

from engram.lab.importance import share_told

RNG = np.random.default_rng(0)


def test_a_setting_that_decides_everything_and_one_that_decides_nothing() -> None:
    values = RNG.uniform(1, 100, 60)
    assert share_told(values, np.log(values), ordered=True, log=True) == pytest.approx(1)
    assert share_told(values, -((values - 50) ** 2), ordered=True) == pytest.approx(1)
    assert share_told(values, RNG.normal(size=60), ordered=True) == pytest.approx(0, abs=0.1)
    names = ["lru", "dkm", "rew"] * 20
    assert share_told(names, [{"lru": 1.0, "dkm": 5.0, "rew": 2.0}[name] for name in names], ordered=False) == (
        pytest.approx(1)
    )
    assert share_told(names, RNG.normal(size=60), ordered=False) == pytest.approx(0, abs=0.1)


def test_half_of_the_differences() -> None:
    values, other = RNG.uniform(-1, 1, 5_000), RNG.uniform(-1, 1, 5_000)
    assert share_told(values, values + other, ordered=True) == pytest.approx(0.5, abs=0.05)


def test_nothing_is_said_of_few_trials_or_of_equal_ones() -> None:
    assert share_told([1, 2, 3], [1.0, 2.0, 3.0], ordered=True) is None
    assert share_told(list(range(10)), [1.0] * 10, ordered=True) is None
    assert share_told([5] * 10, list(map(float, range(10))), ordered=True) is None
    assert share_told(list("abcdefghij"), list(map(float, range(10))), ordered=False) is None
