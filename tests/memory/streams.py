"""Memories driven by random streams of reads and writes, with built-in and plain strategies."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engram import EpisodicMemory
from engram.memory.strategies import Decision, Numbers, Strategy, Touch, Write, blend, replace
from engram.typing import Array

ACTIONS, DIMS, CAPACITY = 2, 3, 20
NAN, INF = float("nan"), float("inf")


class PlainLRU(Strategy):
    numbers = ("last_used",)
    touches = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(int(np.argmin(numbers["last_used"])))

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["last_used"][slot] = write.clock

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["last_used"][slot] = write.clock

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        numbers["last_used"][touch.slots] = touch.clock


class PlainKMeans(Strategy):
    numbers = ("n",)
    needs_nearest = True
    clusters = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return blend(write.nearest, 1 / (numbers["n"][write.nearest] + 1))

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["n"][slot] = 1

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["n"][slot] += 1

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["n"][slot] += 1


STRATEGIES: list[str | Strategy] = ["lru", "rew", "sur", "kmeans", "dkm", "dkm:decay=0.3", "fading"]
STRATEGIES += [PlainLRU(), PlainKMeans()]


def label(strategy: str | Strategy) -> str:
    return strategy if isinstance(strategy, str) else strategy.name


def new_memory(strategy: str | Strategy = "lru", **options: Any) -> EpisodicMemory:
    settings = {"actions": ACTIONS, "key_size": DIMS, "capacity": CAPACITY, "neighbours": 4, **options}
    return EpisodicMemory(strategy=strategy, **settings)


def run_stream(memories: list[EpisodicMemory], seed: int, operations: int = 30) -> None:
    """The same writes, and reads that touch, to every memory; about one state in three is met again."""
    rng = np.random.default_rng(seed)
    pool = rng.standard_normal((2 * CAPACITY, DIMS)).astype(np.float32)
    for _ in range(operations):
        keys = np.where(rng.random((6, 1)) < 0.5, pool[rng.integers(len(pool), size=6)], rng.random((6, DIMS)))
        values = rng.standard_normal(6)
        action, reads = int(rng.integers(ACTIONS)), rng.random() < 0.5
        for memory in memories:
            if reads:
                memory.read(keys, touch=True)
            else:
                memory.write(action, keys, values)


def filled_memory(strategy: str | Strategy = "lru", **options: Any) -> EpisodicMemory:
    memory = new_memory(strategy, **options)
    run_stream([memory], seed=1)
    assert memory.size.tolist() == [CAPACITY] * ACTIONS
    return memory


def arrays_of(state: Mapping[str, Any]) -> dict[str, Array]:
    return {name: array for name, array in state.items() if isinstance(array, np.ndarray)}


def assert_same_bits(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    assert list(ours) == list(theirs)
    for name, array in arrays_of(ours).items():
        assert (array.dtype, array.shape) == (theirs[name].dtype, theirs[name].shape), name
        assert array.tobytes() == theirs[name].tobytes(), name
