"""A memory as NumPy's arrays and back: nothing is lost, and what cannot be is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.memory.strategies import STRATEGIES, Decision, Numbers, Strategy, Write, replace
from engram.typing import Array


class Oldest(Strategy):
    """Replace the entry that was stored first."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(write.writes % write.capacity)


def filled(strategy: str | Strategy = "dkm", writes: int = 40) -> EpisodicMemory:
    memory = EpisodicMemory(actions=3, key_size=2, capacity=8, strategy=strategy, neighbours=3)
    rng = np.random.default_rng(1)
    for action in (0, 2):
        memory.write(action, rng.normal(size=(writes, 2)), rng.normal(size=writes), episode_return=1.0)
    return memory


@pytest.mark.parametrize("strategy", sorted(STRATEGIES.built_in))
def test_a_memory_comes_back_from_numpys_file_and_goes_on_the_same(strategy: str, tmp_path: Path) -> None:
    memory = filled(strategy)
    arrays: Any = memory.to_arrays()
    np.savez(tmp_path / "memory.npz", **arrays)
    with np.load(tmp_path / "memory.npz") as file:
        again = EpisodicMemory.from_arrays(file)
    assert again.describe() == memory.describe()
    for each in (memory, again):
        each.write(1, [[0.5, 0.5]], [2.0], episode_return=1.0)
        each.write(2, [[0.5, 0.5]], [2.0], episode_return=1.0)
    for name, array in memory.to_arrays().items():
        np.testing.assert_array_equal(array, again.to_arrays()[name])


def test_rows_are_entries_that_numpy_can_leave_out() -> None:
    memory = filled("lru")
    arrays = memory.to_arrays()
    assert arrays["actions"].tolist() == [0] * 8 + [2] * 8
    keep = arrays["values"] > 0
    rows = {name for name, array in arrays.items() if array.shape[:1] == keep.shape}
    assert {"actions", "keys", "values", "states", "ranks"} <= rows
    smaller = EpisodicMemory.from_arrays({name: a[keep] if name in rows else a for name, a in arrays.items()})
    assert smaller.size.tolist() == [int((keep & (arrays["actions"] == action)).sum()) for action in range(3)]
    assert (smaller.entries(2)["values"] > 0).all()


def test_a_strategy_of_ones_own_has_to_be_given() -> None:
    arrays = filled(Oldest()).to_arrays()
    with pytest.raises(InvalidInputError, match="not part of Engram; give it again"):
        EpisodicMemory.from_arrays(arrays)
    assert EpisodicMemory.from_arrays(arrays, strategy=Oldest()).size.tolist() == [8, 0, 8]


def changed(arrays: dict[str, Array], **settings: Any) -> dict[str, Array]:
    about = json.loads(str(arrays["about"]))
    about["settings"] |= settings
    return {**arrays, "about": np.array(json.dumps(about))}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda arrays: {"keys": arrays["keys"]}, "not the arrays of a memory"),
        (lambda arrays: {**arrays, "about": np.array("[1")}, "not the arrays of a memory"),
        (lambda arrays: {**arrays, "actions": arrays["actions"][::-1]}, "in the order of their actions"),
        (lambda arrays: {**arrays, "actions": arrays["actions"] + 1}, "whole numbers from 0 to 2"),
        (lambda arrays: {**arrays, "keys": arrays["keys"][1:]}, "'keys' must have shape"),
        (lambda arrays: {**arrays, "values": arrays["values"] * np.nan}, "values"),
        (lambda arrays: changed(arrays, capacity=3), "0 to 3 entries"),
        (lambda arrays: changed(arrays, capacity="many"), "capacity must be"),
        (lambda arrays: changed(arrays, colour="red"), "settings that there are none of"),
        (lambda arrays: changed(arrays, strategy="lru"), "must be described by its name"),
    ],
)
def test_what_is_not_a_memory_is_refused(damage: Callable[[dict[str, Array]], dict[str, Array]], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        EpisodicMemory.from_arrays(damage(filled().to_arrays()))


def test_a_memory_takes_over_entries_of_one_like_it_only() -> None:
    memory = EpisodicMemory(actions=3, key_size=2, capacity=8, strategy="dkm", neighbours=3)
    memory.load_arrays(filled().to_arrays())
    assert memory.size.tolist() == [8, 0, 8]
    with pytest.raises(InvalidInputError, match=r"strategy .*lru"):
        memory.load_arrays(filled("lru").to_arrays())
