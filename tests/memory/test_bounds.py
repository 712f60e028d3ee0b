"""No kernel reaches beyond its arrays: a short part of `make test-kernels`, with numba's bounds checks on."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engram.memory.strategies import STRATEGIES

PROGRAM = """
import sys
import numpy as np
from engram import EpisodicMemory

rng = np.random.default_rng(0)
for name in sys.argv[1:]:
    for dims, capacity in ((2, 70), (97, 70)):
        memory = EpisodicMemory(actions=2, key_size=dims, capacity=capacity, strategy=name, neighbours=5, companions=1)
        for _ in range(3):
            keys = rng.integers(-2, 3, (60, dims)).astype(np.float32)
            for action in range(2):
                memory.write(action, keys, rng.standard_normal(60), states=rng.integers(90, size=60))
            memory.read(keys[:5], touch=True)
            memory.look_up(np.array([0, 1]), keys[:2], touch=True)
            memory.adjust([0, 1], [3, 4], keys[:2], [1.0, 2.0], companions=np.ones((2, 1)))
            memory.load_state_dict(memory.state_dict())
            memory.check_valid()
"""

BEYOND = """
import numpy as np
from engram.memory.heap import sift
from engram.memory.vectors import squared_distance_of_halves
import numba

few, ranks = np.zeros(2, np.int32), np.zeros(2)
halves, query = np.zeros(32, np.uint16), np.zeros(32, np.float32)
distance = numba.njit(lambda start: squared_distance_of_halves(halves, start, query))
assert distance(0) == 0
for beyond in (lambda: sift(few, few, ranks, 5, 7), lambda: distance(1), lambda: distance(-1)):
    try:
        beyond()
    except IndexError:
        continue
    raise AssertionError("nothing was noticed")
"""


def run_checked(program: str, *arguments: str) -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    command = [sys.executable, "-X", "faulthandler", "-c", program, *arguments]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("strategies", [("dkm",), tuple(STRATEGIES.built_in)])
def test_no_strategy_makes_a_kernel_reach_beyond_its_arrays(strategies: tuple[str, ...]) -> None:
    run_checked(PROGRAM, *strategies)


def test_reaching_beyond_an_array_is_noticed_where_bounds_are_checked() -> None:
    run_checked(BEYOND)
