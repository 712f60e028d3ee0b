"""Strategies in plain Python: they equal the compiled ones, and nonsense from them is refused."""

from typing import Any

import numpy as np
import pytest

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.memory.strategies import Decision, Numbers, Strategy, Write, append, blend, replace
from tests.memory.streams import (
    ACTIONS,
    CAPACITY,
    DIMS,
    NAN,
    PlainKMeans,
    PlainLRU,
    assert_same_bits,
    new_memory,
    run_stream,
)


class RandomReplacement(Strategy):
    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(int(self.rng.integers(write.capacity)))


class Answering(Strategy):
    """Gives the same answer to every state that finds the table full."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return self.answer  # type: ignore[no-any-return]


@pytest.mark.parametrize("match", ["max", 0.25])
@pytest.mark.parametrize(("plain", "built_in"), [(PlainLRU(), "lru"), (PlainKMeans(), "kmeans")], ids=["lru", "kmeans"])
def test_a_plain_python_strategy_equals_the_compiled_one(plain: Strategy, built_in: str, match: str | float) -> None:
    ours, theirs = (new_memory(strategy, match=match) for strategy in (plain, built_in))
    for seed in range(8):
        run_stream([ours, theirs], seed, operations=10)
        for action in range(ACTIONS):
            assert_same_bits(ours.entries(action), theirs.entries(action))
        assert ours.read(np.ones((1, DIMS))).tobytes() == theirs.read(np.ones((1, DIMS))).tobytes()
    ours.check_valid()
    for name in ("size", "writes", "clock"):
        np.testing.assert_array_equal(ours.state_dict()[name], theirs.state_dict()[name])


def test_random_replacement_keeps_the_newest_state_and_the_rest_by_chance() -> None:
    memory = new_memory(RandomReplacement(seed=0), actions=1)
    rng = np.random.default_rng(0)
    survivors = set(range(CAPACITY))
    memory.write(0, rng.standard_normal((CAPACITY, DIMS)), np.arange(CAPACITY))
    for value in range(CAPACITY, 5 * CAPACITY):
        before = set(memory.entries(0)["values"].tolist())
        key = rng.standard_normal((1, DIMS))
        memory.write(0, key, [value])
        after = set(memory.entries(0)["values"].tolist())
        assert after - before == {value}
        assert len(before - after) == 1
        assert memory.read(key)[0, 0] == value
        survivors &= after
    memory.check_valid()
    # each of the 80 replacements spares an entry with probability 19/20: 0.33 of the first 20 are expected
    assert len(survivors) < 5
    assert memory.size.tolist() == [CAPACITY]


def test_a_strategy_is_told_what_it_asked_for_and_no_more() -> None:
    seen: list[Write] = []

    class Asking(Strategy):
        needs_nearest = True
        needs_estimate = True

        def when_full(self, write: Write, numbers: Numbers) -> Decision:
            seen.append(write)
            assert not numbers
            return replace(0)

    class Ignorant(Asking):
        needs_nearest = False
        needs_estimate = False

    for strategy in (Asking(), Ignorant()):
        memory = EpisodicMemory(actions=1, key_size=1, capacity=2, strategy=strategy, delta=1.0)
        memory.write(0, [[0.0], [3.0]], [10.0, 40.0])
        memory.write(0, [[1.0]], [7.0])
    asked, ignorant = seen
    for told in seen:
        assert (told.size, told.capacity, told.clock, told.writes, told.value) == (2, 2, 3, 0, 7.0)
    assert asked.estimate == pytest.approx((10 / 2 + 40 / 5) / (1 / 2 + 1 / 5))
    assert (asked.nearest, asked.distance, asked.nearest_value) == (0, 1.0, 10.0)
    assert ignorant.nearest == -1
    assert np.isnan([ignorant.estimate, ignorant.distance, ignorant.nearest_value]).all()


@pytest.mark.parametrize(
    "answer",
    [
        append(),
        replace(-1),
        replace(CAPACITY),
        blend(CAPACITY, 0.5),
        blend(0, NAN),
        Decision(7, 0, 1.0),
        Decision(1, 1.5, 1.0),  # type: ignore[arg-type]
        None,
        3,
        "replace",
    ],
    ids=str,
)
def test_nonsense_from_a_strategy_is_refused(answer: Any) -> None:
    memory = new_memory(Answering(answer), actions=1)
    keys = np.random.default_rng(0).standard_normal((CAPACITY + 1, DIMS))
    memory.write(0, keys[:-1], np.arange(CAPACITY))
    before = memory.entries(0)
    with pytest.raises(InvalidInputError, match=r"Answering.decide must answer append\(\) .*, got "):
        memory.write(0, keys[-1:], [0.0])
    assert_same_bits(memory.entries(0), before)
    memory.check_valid()


def test_a_strategy_without_when_full_says_what_is_missing() -> None:
    class Undecided(Strategy):
        pass

    with pytest.raises(InvalidInputError, match="Undecided must define when_full"):
        new_memory(Undecided(), capacity=1)
