"""What DkM costs beside kM and beside a lookup, in tables like those of agents.

What DkM needs on top of kM is O(N) in the paper, which lowers every count, and O(log N) here (see `dkm.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np

from engram.hashing import states_of
from engram.memory.memory import EpisodicMemory
from engram.typing import Floats

TURNS = 5  # in which times are taken; a round has their median
FEWEST = 16  # points that a time is taken over


@dataclass(frozen=True)
class Timing:
    """At which tables times are taken, and how many."""

    capacities: tuple[int, ...] = (1_000, 10_000, 100_000)  # N
    dimensions: tuple[int, ...] = (4, 16, 128)  # numbers of a key: CartPole has four, a projected image 128
    neighbours: int = 11  # k of a lookup, as the paper's agents have
    rounds: int = 11
    numbers: int = 10_000_000  # of keys that are compared in a time taken, about


class Cost(NamedTuple):
    """Microseconds per point: of looking up its neighbours in a full table, and of writing it there."""

    round: int
    capacity: int
    dimensions: int
    neighbours: int
    lookup_us: float
    kmeans_us: float
    dkm_us: float


def measure_costs(timing: Timing, seed: int) -> list[Cost]:
    """The times of every round at every table."""
    return [
        row
        for dimensions in timing.dimensions
        for capacity in timing.capacities
        for row in _rounds(timing, capacity, dimensions, np.random.default_rng(seed))
    ]


def _rounds(timing: Timing, capacity: int, dimensions: int, rng: np.random.Generator) -> Iterator[Cost]:
    """The times of every round: medians of short ones that are taken in turns. A first round is not counted.

    Numbers of keys are independent and normal, so that the search can leave out little.
    """
    memories = [
        EpisodicMemory(actions=1, key_size=dimensions, capacity=capacity, strategy=name, neighbours=timing.neighbours)
        for name in ("kmeans", "dkm")
    ]
    filling = rng.standard_normal((capacity, dimensions), np.float32)
    for memory in memories:
        memory.write(0, filling, np.zeros(capacity, np.float32))
    count = max(FEWEST, timing.numbers // (capacity * dimensions))
    for number in range(-1, timing.rounds):
        taken = [_turn(memories, rng.standard_normal((count, dimensions), np.float32)) for _ in range(TURNS)]
        if number >= 0:
            yield Cost(number, capacity, dimensions, timing.neighbours, *np.median(taken, axis=0).tolist())


def _turn(memories: list[EpisodicMemory], points: Floats) -> list[float]:
    """Microseconds per point of a lookup, and then of a write to each memory."""
    values, states = np.zeros(len(points), np.float32), states_of(points)
    lookup = _time(lambda: memories[0].read(points))
    writes = [_time(lambda memory=memory: memory.write(0, points, values, states=states)) for memory in memories]  # type: ignore[misc]
    return [seconds / len(points) * 1e6 for seconds in (lookup, *writes)]


def _time(job: Callable[[], object]) -> float:
    """Seconds that a job takes."""
    start = perf_counter()
    job()
    return perf_counter() - start
