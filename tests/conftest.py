"""Fixtures that many tests share."""

import os
import signal
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import settings

from engram.agents import Agent
from engram.files.arrays import split
from engram.typing import Floats
from tests.examples import THOROUGH

settings.register_profile("usual", deadline=None)  # how long an example takes is the machine's business
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=THOROUGH)
settings.load_profile("usual")


def pytest_configure() -> None:
    """One thread for each process: PyTorch's more would fight over the cores, and round differently.

    And Ctrl-C means what it usually means, also where a shell has its background jobs ignore it.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Corridor(gymnasium.Env[Floats, np.int64]):
    """Five cells in a row; going right from the last one pays 1. The simplest thing that can be learned."""

    observation_space = gymnasium.spaces.Box(0, 4, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, length: int = 5) -> None:
        self.length = length
        self.cell = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Floats, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = int(self.np_random.integers(2))
        return self._observation(), {}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        self.cell = max(self.cell + (1 if action == 1 else -1), 0)
        done = self.cell == self.length
        return self._observation(), float(done), done, False, {}

    def _observation(self) -> Floats:
        return np.array([min(self.cell, 4)], np.float32)


@pytest.fixture
def corridor() -> type[Corridor]:
    return Corridor


def assert_same_state(one: Agent, other: Agent) -> None:
    (arrays, plain), (other_arrays, other_plain) = split(one.state_dict()), split(other.state_dict())
    assert plain == other_plain
    assert arrays.keys() == other_arrays.keys()
    for name, array in arrays.items():
        assert array.dtype == other_arrays[name].dtype
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)
