"""Calls of the memory with hostile arrays and settings: each must be refused with an EngramError, or do what it says.

`python -m tests.faults.memory_calls COUNT SEED` makes them and prints the outcomes as JSON.
"""

import sys
import warnings
from typing import Any

import numpy as np

from engram import EpisodicMemory
from engram.memory.strategies import get_strategy
from tests.faults.hostile import NUMBERS, STRANGE, WHOLE, Hostile
from tests.faults.hostile_calls import Call, outcomes_of, print_outcomes
from tests.memory.samples import Everything, plain_twin
from tests.memory.test_device import both

STRATEGIES: tuple[Any, ...] = ("lru", "rew", "sur", "kmeans", "dkm", "dkm:decay=0.3", "fading", "fading:lifetime=1.1")
SETTINGS: tuple[dict[str, Any], ...] = (
    {"key_size": 3, "capacity": 7, "neighbours": 3},
    {"key_size": 1, "capacity": 1, "neighbours": 11, "match": 0.25, "exact_read": False},
    {"key_size": 128, "capacity": 70, "neighbours": 5, "companions": 2, "kernel": "mean"},
)


def new_memories() -> list[EpisodicMemory]:
    """A memory for every strategy and setting, those of a user and the store for GPUs among them."""
    own = (Everything(), plain_twin(Everything()), plain_twin(get_strategy("lru")))  # type: ignore[arg-type]
    memories = [
        EpisodicMemory(actions=2, strategy=each, **settings) for each in (*STRATEGIES, *own) for settings in SETTINGS
    ]
    memories.append(EpisodicMemory(actions=2, strategy="dkm", merging="episode", **SETTINGS[0]))
    memories += [both(actions=2, strategy=each, **SETTINGS[0])[1] for each in ("lru", "dkm")]
    return memories


def action(make: Hostile) -> Any:
    return make.one(make.random.choice((0, 1, 0, 1, np.int8(1), -1, 2)))


def read(memory: EpisodicMemory, make: Hostile) -> Any:
    count = make.random.randrange(4)
    return memory.read(make.one(make.some(count, memory.key_size)), touch=make.one(make.random.random() < 0.5))


def look_up(memory: EpisodicMemory, make: Hostile) -> Any:
    count = make.random.randrange(4)
    actions, keys = make.one(make.whole(2, count)), make.one(make.some(count, memory.key_size))
    return memory.look_up(actions, keys, touch=make.one(make.random.random() < 0.5)).values


def find_neighbours(memory: EpisodicMemory, make: Hostile) -> Any:
    return memory.find_neighbours(action(make), make.one(make.some(2, memory.key_size)))[1]


def nearest_distances(memory: EpisodicMemory, make: Hostile) -> Any:
    return memory.nearest_distances(make.one(make.some(2, memory.key_size)))


def write(memory: EpisodicMemory, make: Hostile) -> None:
    count = make.random.choice((0, 1, 2, 5, 30))
    told: dict[str, Any] = {}
    if make.random.random() < 0.5:
        told["states"] = make.one(make.whole(make.random.choice((5, 2**62)), count))
    if make.random.random() < 0.5 or isinstance(memory.strategy, Everything):
        told["episode_return"] = make.one(make.some(*make.random.choice(((), (1,), (count,)))))
    memory.write(action(make), make.one(make.some(count, memory.key_size)), make.one(make.some(count)), **told)


def adjust(memory: EpisodicMemory, make: Hostile) -> None:
    count = make.random.randrange(4)
    actions, keys, values = make.whole(2, count), make.some(count, memory.key_size), make.some(count)
    slots = make.whole(int(memory.size.max()), count)
    width = memory.companions.shape[2]
    told = {"companions": make.one(abs(make.rng.standard_normal((count, width))))} if make.random.random() < 0.3 else {}
    memory.adjust(*(make.one(each) for each in (actions, slots, keys, values)), **told)


def look_at(memory: EpisodicMemory, make: Hostile) -> Any:
    memory.table_numbers(action(make))
    assert repr(memory)
    return memory.entries(action(make))["values"]


def change_in_place(memory: EpisodicMemory, make: Hostile) -> None:
    """What is handed out may be written to, or not, but never is the memory itself."""
    arrays: list[Any] = [memory.size, memory.companions, *memory.entries(0).values()]
    array = make.random.choice(arrays)
    if array.flags.writeable and array.size:
        array.reshape(-1)[0] = 77


def load(memory: EpisodicMemory, make: Hostile) -> None:
    """Load the state of the memory itself, with one of its arrays changed."""
    state = memory.state_dict()
    for _ in range(make.random.choice((0, 1, 1, 2))):
        name = make.random.choice(list(state))
        array = state[name]
        draw = make.random.randrange(6)
        if draw == 0 or not isinstance(array, np.ndarray) or not (array.size and array.flags.writeable):
            state[name] = make.one(array)
        elif draw == 1:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                state[name] = make.dressed(array)
        else:
            numbers = NUMBERS if array.dtype.kind == "f" else WHOLE
            at = make.random.choice((slice(None), make.random.randrange(array.size)))
            try:
                with np.errstate(all="ignore"):
                    array.reshape(-1)[at] = make.random.choice(numbers)
            except OverflowError:
                del state[name]
    memory.load_state_dict(state)


def construct(memory: EpisodicMemory, make: Hostile) -> None:
    usual: dict[str, Any] = {
        "actions": 2,
        "key_size": 3,
        "capacity": 5,
        "strategy": memory.strategy,
        "neighbours": 11,
        "delta": 1e-3,
        "kernel": "inverse",
        "match": "max",
        "merging": "single",
        "exact_read": True,
        "companions": 0,
        "device": "cpu",
    }
    for _ in range(make.random.choice((1, 1, 2))):
        name = make.random.choice(list(usual))
        usual[name] = make.random.choice(make.random.choice((STRANGE, NUMBERS, WHOLE)))
    if isinstance(usual["strategy"], str):
        usual["strategy"] = make.random.choice(
            ("dkm:decay=1e308", "dkm:decay=-1", "fading:lifetime=nan", "dkm:decay=x", ":")
        )
    EpisodicMemory(**usual)


CALLS: tuple[tuple[int, Call[EpisodicMemory]], ...] = (
    (5, read),
    (3, look_up),
    (2, find_neighbours),
    (1, nearest_distances),
    (7, write),
    (3, adjust),
    (1, look_at),
    (1, change_in_place),
    (3, load),
    (2, construct),
)


if __name__ == "__main__":
    print_outcomes(outcomes_of(int(sys.argv[1]), int(sys.argv[2]), new_memories, CALLS))
