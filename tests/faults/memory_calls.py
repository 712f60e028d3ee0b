"""Calls of the memory with hostile arrays and settings: each must be refused with an EngramError, or do what it says.

`python -m tests.faults.memory_calls COUNT SEED` makes them and prints the outcomes as JSON. `watched` runs that in a
process of its own, so that a crash is counted too, and with numba's bounds checks, which notice access beyond an array.
"""

import json
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from engram import EpisodicMemory
from engram.errors import EngramError
from engram.memory.strategies import get_strategy
from tests.memory.samples import Everything, plain_twin
from tests.memory.test_device import both

NAN, INF = float("nan"), float("inf")
STRATEGIES: tuple[Any, ...] = ("lru", "rew", "sur", "kmeans", "dkm", "dkm:decay=0.3", "fading", "fading:lifetime=1.1")
SETTINGS: tuple[dict[str, Any], ...] = (
    {"key_size": 3, "capacity": 7, "neighbours": 3},
    {"key_size": 1, "capacity": 1, "neighbours": 11, "match": 0.25, "exact_read": False},
    {"key_size": 128, "capacity": 70, "neighbours": 5, "companions": 2, "kernel": "mean"},
)
NUMBERS: tuple[float, ...] = (
    *(NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, -1e-40, 1e-300, 1e10, 1e15, -1e15, 1.0000001e15, 1e19, -3e38),
    *(3.5e38, 1e300, -1e308, 2.0**53, 2.0**63),
)
WHOLE: tuple[int, ...] = (
    0,
    1,
    2,
    -1,
    -2,
    5,
    69,
    70,
    2**31 - 1,
    2**31,
    -(2**31),
    2**62,
    2**63 - 1,
    2**63,
    2**64,
    10**400,
)
STRANGE: tuple[Any, ...] = (
    *(None, "", "lru", b"x", True, 1j, (), [], {}, [[]], [[1, 2], [3]], [None], ["a"], object(), float, 10**5000),
    *(np.array(None), np.array("x"), np.array([1j]), np.zeros((0, 0)), np.zeros((2, 0, 3)), np.float16(3), np.bool_(1)),
    *(
        np.array(["2020-01-01"], "datetime64[D]"),
        np.zeros(3, "V4"),
        np.array([object()]),
        np.broadcast_to(1.0, (10**13, 3)),
    ),
    *(torch.zeros(2, 3, dtype=torch.complex64), torch.zeros(1, 3, device="meta"), torch.zeros(3).to_sparse()),
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


def read_only(array: Any, _: random.Random) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array: Any, _: random.Random) -> Any:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    raw[1:] = np.frombuffer(array.tobytes(), np.uint8)
    return raw[1:].view(array.dtype).reshape(array.shape)


def as_another_type(array: Any, rng: random.Random) -> Any:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return array.astype(rng.choice((np.float16, np.int8, np.uint64, np.bool_, object, np.longdouble)))


FORMS: tuple[Callable[[Any, random.Random], Any], ...] = (
    read_only,
    misaligned,
    as_another_type,
    lambda array, _: array.tolist(),
    lambda array, _: np.asfortranarray(array),
    lambda array, _: np.repeat(array, 2, axis=0)[::2] if array.ndim else array,
    lambda array, _: torch.from_numpy(np.array(array, np.float32)),
    lambda array, _: torch.from_numpy(np.array(array, np.float32)).bfloat16().requires_grad_(),
    lambda array, _: array.astype(array.dtype.newbyteorder(">")),
    lambda array, _: array[..., :-1] if array.ndim else array,
    lambda array, _: array.T,
    lambda array, _: array[None],
)


class Hostile:
    """Makes arguments: mostly right ones, with something wrong in one of them."""

    def __init__(self, seed: int) -> None:
        self.random, self.rng = random.Random(seed), np.random.default_rng(seed)

    def some(self, *shape: int) -> Any:
        """Numbers as they should be; now and then one of them is not."""
        array = self.rng.integers(-2, 3, shape) + self.rng.choice([0.0, 0.5])
        array = (array * self.random.choice((1, 1, 1, 1e-3, 1e6, 1e14))).astype(
            self.random.choice((np.float32, np.float64))
        )
        if array.size and self.random.random() < 0.2:
            with np.errstate(over="ignore"):
                array.reshape(-1)[self.random.randrange(array.size)] = self.random.choice(NUMBERS)
        return self.dressed(array)

    def dressed(self, array: Any) -> Any:
        """The same numbers in another form, more often than not as they are."""
        array = np.asarray(array)
        form = self.random.choice(FORMS) if self.random.random() < 0.6 else None
        return array if form is None else form(array, self.random)

    def whole(self, below: int, count: int) -> Any:
        """Whole numbers as they should be; now and then one of them is not."""
        numbers = self.rng.integers(0, max(below, 1), count)
        if count and self.random.random() < 0.15:
            listed = numbers.tolist()
            listed[self.random.randrange(count)] = self.random.choice(WHOLE)
            return listed
        return (
            numbers
            if self.random.random() < 0.8
            else numbers.astype(self.random.choice((np.int8, np.uint64, np.float64)))
        )

    def one(self, usual: Any) -> Any:
        """An argument as it should be, or something strange in its place."""
        draw = self.random.random()
        if draw < 0.05:
            return self.random.choice(STRANGE)
        return self.random.choice(NUMBERS + WHOLE) if draw < 0.07 else usual

    def action(self) -> Any:
        return self.one(self.random.choice((0, 1, 0, 1, np.int8(1), -1, 2)))


def read(memory: EpisodicMemory, make: Hostile) -> Any:
    count = make.random.randrange(4)
    return memory.read(make.one(make.some(count, memory.key_size)), touch=make.one(make.random.random() < 0.5))


def look_up(memory: EpisodicMemory, make: Hostile) -> Any:
    count = make.random.randrange(4)
    actions, keys = make.one(make.whole(2, count)), make.one(make.some(count, memory.key_size))
    return memory.look_up(actions, keys, touch=make.one(make.random.random() < 0.5)).values


def find_neighbours(memory: EpisodicMemory, make: Hostile) -> Any:
    return memory.find_neighbours(make.action(), make.one(make.some(2, memory.key_size)))[1]


def nearest_distances(memory: EpisodicMemory, make: Hostile) -> Any:
    return memory.nearest_distances(make.one(make.some(2, memory.key_size)))


def write(memory: EpisodicMemory, make: Hostile) -> None:
    count = make.random.choice((0, 1, 2, 5, 30))
    told: dict[str, Any] = {}
    if make.random.random() < 0.5:
        told["states"] = make.one(make.whole(make.random.choice((5, 2**62)), count))
    if make.random.random() < 0.5 or isinstance(memory.strategy, Everything):
        told["episode_return"] = make.one(make.some(*make.random.choice(((), (1,), (count,)))))
    memory.write(make.action(), make.one(make.some(count, memory.key_size)), make.one(make.some(count)), **told)


def adjust(memory: EpisodicMemory, make: Hostile) -> None:
    count = make.random.randrange(4)
    actions, keys, values = make.whole(2, count), make.some(count, memory.key_size), make.some(count)
    slots = make.whole(int(memory.size.max()), count)
    width = memory.companions.shape[2]
    told = {"companions": make.one(abs(make.rng.standard_normal((count, width))))} if make.random.random() < 0.3 else {}
    memory.adjust(*(make.one(each) for each in (actions, slots, keys, values)), **told)


def look_at(memory: EpisodicMemory, make: Hostile) -> Any:
    memory.table_numbers(make.action())
    assert repr(memory)
    return memory.entries(make.action())["values"]


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


CALLS: tuple[tuple[int, Callable[[EpisodicMemory, Hostile], Any]], ...] = (
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


def campaign(count: int, seed: int) -> dict[str, Any]:
    """Make `count` calls and count the outcomes. Another error, NaN, or a memory that is then not valid is a loss."""
    make, memories = Hostile(seed), new_memories()
    weights, calls = zip(*CALLS, strict=True)
    outcomes = {"calls": 0, "refused": 0, "accepted": 0, "losses": 0}
    problems: list[str] = []
    for number in range(count):
        memory, call = make.random.choice(memories), make.random.choices(calls, weights)[0]
        outcomes["calls"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = call(memory, make)
            outcomes["accepted"] += 1
            if found is not None and bool(np.isnan(np.asarray(found)).any()):
                raise AssertionError("NaN was read")
        except EngramError:
            outcomes["refused"] += 1
        except Exception as error:
            outcomes["losses"] += 1
            problems.append(f"{number}: {call.__name__} of {memory!r}: {error!r:.300}")
        try:
            memory.check_valid()
        except Exception as error:
            outcomes["losses"] += 1
            problems.append(f"{number}: after {call.__name__} of {memory!r}: {error!r:.300}")
            memories = new_memories()
    return {**outcomes, "problems": problems[:20]}


def watched(count: int, seed: int, *, checked: bool = True) -> dict[str, Any]:
    """A campaign in a process of its own, with numba's bounds checks; if that crashes, it is a loss."""
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.faults.memory_calls", str(count), str(seed)]
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": str(int(checked))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"calls": 0, "losses": 1, "problems": [f"ended with {done.returncode}: {done.stderr[-2000:]}"]}
    outcomes: dict[str, Any] = json.loads(done.stdout)
    return outcomes


if __name__ == "__main__":
    print(json.dumps(campaign(int(sys.argv[1]), int(sys.argv[2]))))
