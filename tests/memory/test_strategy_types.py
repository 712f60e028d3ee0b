"""Compiled strategies as types: which are refused, what kernels on disk are found by, and what a rule may do."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.memory.strategies import (
    CompiledStrategy,
    Decision,
    DynamicKMeans,
    LeastRecentlyUsed,
    Numbers,
    Touch,
    Write,
    append,
    blend,
    replace,
)
from engram.memory.strategy_types import StrategyType, type_of_class

MODULE = """
from dataclasses import dataclass

import numba

from engram.memory.strategies import CompiledStrategy, replace

LIMIT = 2.0


@numba.njit
def helped(number):
    return number + 1.0


@dataclass(frozen=True)
class Mine(CompiledStrategy):
    base: float = 0.0
    numbers = ("a",)
    SHIFT = 4.0

    def when_full(self, write, numbers):
        return replace(0)

    def stored(self, slot, write, numbers):
        numbers["a"][slot] = self.base + LIMIT + self.SHIFT + self.further(helped(8.0))

    def further(self, number):
        return number + 16.0
"""

PROGRAM = """
import json, sys
sys.path.insert(0, ".")
from numba.core import event
from engram import EpisodicMemory
from mine import Mine

compiled = []
class Listener(event.Listener):
    def on_start(self, told):
        compiled.append(told.data["dispatcher"].py_func.__qualname__)
    def on_end(self, told):
        pass
event.register("numba:compile", Listener())
memory = EpisodicMemory(actions=1, key_size=2, capacity=3, strategy=Mine())
memory.write(0, [[0.0, 0.0]], [1.0])
print(json.dumps([memory.entries(0)["a"].tolist(), compiled]))
"""


def run_mine(folder: Path, source: str) -> tuple[float, list[str]]:
    """The number that a fresh process stores with this source of a strategy, and the functions it compiled for that."""
    (folder / "mine.py").write_text(source)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "kernels"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    numbers, compiled = json.loads(done.stdout)
    return numbers[0], compiled


@pytest.mark.slow
def test_kernels_of_a_users_strategy_are_found_on_disk_until_it_is_edited(tmp_path: Path) -> None:
    assert run_mine(tmp_path, MODULE)[0] == 2 + 4 + 8 + 1 + 16
    assert run_mine(tmp_path, MODULE) == (31, [])  # a second process compiles nothing
    edits = {
        "LIMIT = 2.0": "LIMIT = 3.0",  # a global
        "number + 1.0": "number + 2.0",  # a function that a rule calls
        "SHIFT = 4.0": "SHIFT = 5.0",  # an attribute of the class
        "number + 16.0": "number + 17.0",  # a method that a rule calls
        "self.base + LIMIT": "self.base + 1.0 + LIMIT",  # the rule itself
    }
    for before, after in edits.items():
        value, compiled = run_mine(tmp_path, MODULE.replace(before, after))
        assert value == 32, after
        assert "write_states" in compiled, after
    assert run_mine(tmp_path, MODULE) == (31, [])  # as it was: found again


@pytest.mark.slow
def test_numbas_index_can_be_read_where_the_strategys_module_is_unknown(tmp_path: Path) -> None:
    run_mine(tmp_path, MODULE)
    assert "mine" not in sys.modules
    (index,) = tmp_path.rglob("write.write_states-*.nbi")
    with index.open("rb") as file:
        pickle.load(file)  # numba's version
        _, overloads = pickle.loads(file.read())
    ((signature, *_),) = overloads
    assert isinstance(signature[0], StrategyType)
    assert signature[0].identity.startswith("mine.Mine:")
    assert "mine" not in sys.modules


@dataclass(frozen=True)
class Slow(LeastRecentlyUsed):
    """LRU that does not count reads."""

    touches = False

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["last_used"][slot] = -write.clock


def test_a_subclass_is_a_type_of_its_own_with_its_own_rules_and_needs() -> None:
    assert type_of_class(Slow) != type_of_class(LeastRecentlyUsed)
    assert type_of_class(Slow).identity.startswith("tests.memory.test_strategy_types.Slow:")
    memory = EpisodicMemory(actions=1, key_size=1, capacity=2, strategy=Slow())
    memory.write(0, [[0.0], [1.0]], [0.0, 1.0])
    memory.read([[0.0]], touch=True)
    assert memory.entries(0)["last_used"].tolist() == [-1, -2]
    memory.write(0, [[2.0]], [2.0])  # replaces the newest
    assert memory.entries(0)["values"].tolist() == [0, 2]
    memory.check_valid()


class Nearby(DynamicKMeans):
    """DkM that has its neighbours told, also while the table fills."""

    needs_nearest = True  # type: ignore[assignment]
    needs_neighbours = True
    numbers = ("rank", "spread")  # type: ignore[assignment]

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["rank"][slot] = write.capacity * self.q + self.p * write.writes
        numbers["spread"][slot] = len(write.neighbours.slots) + (0.0 if write.nearest < 0 else write.distance)

    def show(self, numbers: Numbers, writes: int, capacity: int) -> dict[str, Any]:
        return {"spread": numbers["spread"]}


def test_needs_and_numbers_that_a_subclass_adds_are_honoured() -> None:
    memory = EpisodicMemory(actions=1, key_size=1, capacity=5, strategy=Nearby(decay=0.5), neighbours=2)
    memory.write(0, [[0.0], [3.0], [5.0]], [0.0, 1.0, 2.0])
    assert memory.entries(0)["spread"].tolist() == [0, 1 + 9, 2 + 4]


@dataclass(frozen=True)
class Answers(CompiledStrategy):
    """Gives the same answer to every state that finds the table full."""

    kind: int = 0
    slot: int = 0
    weight: float = 1.0

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        if self.kind == 0:
            return append()
        return replace(self.slot) if self.kind == 1 else blend(self.slot, self.weight)


@pytest.mark.parametrize(
    "answer",
    [Answers(0), Answers(1, -1), Answers(1, 3), Answers(2, 3, 0.5), Answers(2, 0, 1.5), Answers(2, 0, float("nan"))],
    ids=repr,
)
def test_decisions_that_cannot_be_carried_out_are_refused(answer: CompiledStrategy) -> None:
    memory = EpisodicMemory(actions=1, key_size=1, capacity=3, strategy=answer)
    memory.write(0, [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    before = memory.entries(0)
    with pytest.raises(InvalidInputError, match=r"Answers: decide must answer append\(\) while there is room"):
        memory.write(0, [[3.0]], [0.0])
    for name, array in memory.entries(0).items():
        np.testing.assert_array_equal(array, before[name])
    memory.check_valid()


@dataclass(frozen=True)
class Reaching(CompiledStrategy):
    """Reads or sets numbers of slots that are not in use."""

    slot: int = 0
    reads: bool = False
    ordered: bool = False
    touched_slot: int = 0

    numbers = ("a", "b")
    order = "a"

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(0)

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        if self.reads and self.ordered:
            numbers["b"][slot] = numbers["a"][self.slot]
        elif self.reads:
            numbers["a"][slot] = numbers["b"][self.slot]
        elif self.ordered:
            numbers["a"][self.slot] = 1
        else:
            numbers["b"][self.slot] = 1

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        numbers["a"][self.touched_slot] = 1


@pytest.mark.parametrize("slot", [-2, 1, 10**9])
@pytest.mark.parametrize("reads", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_numbers_of_slots_that_are_not_in_use_are_out_of_reach(slot: int, reads: bool, ordered: bool) -> None:
    memory = EpisodicMemory(actions=1, key_size=1, capacity=3, strategy=Reaching(slot, reads, ordered))
    with pytest.raises(InvalidInputError, match=r"Reaching: .*(not in use|out of bounds)"):
        memory.write(0, [[0.0]], [0.0])
    memory = EpisodicMemory(actions=1, key_size=1, capacity=3, strategy=Reaching(0, reads, ordered, slot))
    memory.write(0, [[0.0]], [0.0])
    with pytest.raises(InvalidInputError, match=r"Reaching: .*not in use"):
        memory.read([[0.0]], touch=True)


def test_rules_that_are_not_plain_methods_are_refused_when_the_class_is_defined() -> None:
    with pytest.raises(InvalidInputError, match=r"Static.stored must be a plain method to be compiled, got <static"):
        type("Static", (CompiledStrategy,), {"stored": staticmethod(lambda slot, write, numbers: None)})
    with pytest.raises(InvalidInputError, match=r"Other.touched must have the parameters \['self', 'touch', 'numbers'"):
        type("Other", (CompiledStrategy,), {"touched": lambda self, slots, clock, numbers: None})
    with pytest.raises(InvalidInputError, match=r"Orders.order must be one of its numbers \('a',\), got 'b'"):
        type("Orders", (CompiledStrategy,), {"numbers": ("a",), "order": "b"})
    with pytest.raises(InvalidInputError, match=r'Needy.needs_nearest must be True, False or "full", got \'always\''):
        type("Needy", (CompiledStrategy,), {"needs_nearest": "always"})


@dataclass(frozen=True)
class Drawing(CompiledStrategy):
    """A rule with a generator, which numba does not know."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(int(self.rng.integers(write.size)))  # type: ignore[attr-defined]


def test_a_rule_that_numba_cannot_compile_is_refused_with_the_line_and_the_way_out() -> None:
    memory = EpisodicMemory(actions=1, key_size=1, capacity=1, strategy=Drawing())
    message = r"(?s)the rules of Drawing cannot be compiled; .* derive from Strategy .* 'rng' .*test_strategy_types.py"
    with pytest.raises(InvalidInputError, match=message):
        memory.write(0, [[0.0]], [0.0])


def test_a_strategy_without_rules_says_what_is_missing() -> None:
    @dataclass(frozen=True)
    class Undecided(CompiledStrategy):
        pass

    with pytest.raises(InvalidInputError, match=r"Undecided must define when_full\(write, numbers\)"):
        EpisodicMemory(actions=1, key_size=1, capacity=1, strategy=Undecided())
