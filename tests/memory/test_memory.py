"""The memory's interface: what it takes, what it refuses and what it hands out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import torch

from engram import MFEC, EpisodicMemory, checks
from engram.cli import main
from engram.errors import InvalidInputError
from engram.memory.arguments import KEY_LIMIT
from engram.memory.sketch import is_sketched
from engram.memory.strategies import Strategy
from engram.typing import Array
from tests.conftest import Corridor
from tests.memory.streams import (
    ACTIONS,
    DIMS,
    INF,
    NAN,
    STRATEGIES,
    PlainLRU,
    arrays_of,
    assert_same_bits,
    filled_memory,
    label,
    new_memory,
)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"actions": 0}, "actions must be at least 1, got 0"),
        ({"key_size": 0}, "key_size must be at least 1, got 0"),
        ({"capacity": 0}, "capacity must be at least 1, got 0"),
        ({"capacity": 2.5}, "capacity must be a whole number, got 2.5"),
        ({"capacity": True}, "capacity must be a whole number, got True"),
        ({"capacity": "many"}, "capacity must be a whole number, got 'many'"),
        ({"capacity": float("inf")}, "capacity must be a whole number, got inf"),
        ({"neighbours": -3}, "neighbours must be at least 1, got -3"),
        ({"delta": 0.0}, r"delta must be a number from 1e-12 to 1e\+12, got 0.0"),
        ({"delta": float("nan")}, "delta must be a number from .*, got nan"),
        (
            {"kernel": "invers"},
            "kernel must be one of 'inverse', 'mean', got 'invers'; did you mean 'inverse'",
        ),
        ({"match": "min"}, "match must be \"max\" or a step size above 0 and up to 1, got 'min'"),
        ({"match": 0.0}, "match must be .*, got 0.0"),
        ({"match": 1.5}, "match must be .*, got 1.5"),
        ({"device": "tpu"}, "device must be one of 'cpu', 'cuda', 'auto', got 'tpu'"),
        ({"strategy": "LRU"}, "unknown strategy 'LRU'; did you mean 'lru'"),
        ({"strategy": PlainLRU}, "strategy must be a name or an instance of Strategy, got <class"),
        ({"strategy": "dkm:decay=fast"}, "decay must be float, got 'fast'"),
        ({"strategy": "lru:decay=1"}, "lru has no option 'decay'; it has: none"),
        ({"strategy": "dkm:decay=-1"}, r"decay must be a number from 0 to 1e\+06, got -1.0"),
        ({"strategy": "dkm:decay=1e308"}, r"decay must be a number from 0 to 1e\+06, got 1e\+308"),
        ({"strategy": "dkm:decay=nan"}, r"decay must be a number from 0 to 1e\+06, got nan"),
        ({"strategy": "fading:lifetime=1"}, r"lifetime must be a number above 1 .* up to 1e\+09, got 1.0"),
        ({"strategy": "fading:lifetime=inf"}, "lifetime must be a number above 1 .*, got inf"),
        ({"strategy": "fading:lifetime=1e300"}, r"lifetime must be a number above 1 .*, got 1e\+300"),
        ({"capacity": 10**11}, "capacity must be at most 1,073,741,824, got 100000000000"),
        (
            {"capacity": 10**9},
            r"capacity 1,000,000,000 and keys of size 3 .* takes .* GB, and .*; choose a capacity of up",
        ),
        ({"key_size": 10**6, "capacity": 10**6}, r"keys of size 1,000,000 \(that of an observation, .* takes 8.0 TB"),
        ({"companions": 10**7, "capacity": 10**6}, "once it is full, takes .* TB"),
        ({"actions": 2**30, "capacity": 2**20}, "memory for 1,073,741,824 actions .* takes .* TB"),
        ({"key_size": 10**400}, "key_size must be at most 10,000,000, got "),
        ({"neighbours": 10**5000}, "neighbours must be at most .*, got a int that is too long to show"),
        ({"actions": None}, "actions must be a whole number, got None"),
        ({"actions": 1j}, "actions must be a whole number, got 1j"),
        ({"delta": True}, "delta must be a number from .*, got True"),
        ({"delta": "0.1"}, "delta must be a number from .*, got '0.1'"),
        ({"kernel": np.zeros(3)}, "kernel must be one of .*, got array"),
        ({"match": np.zeros(3)}, "match must be .*, got array"),
        ({"match": True}, "match must be .*, got True"),
        ({"merging": None}, "merging must be one of .*, got None"),
        ({"match_key": "old"}, "match_key must be one of 'newer', 'older', got 'old'"),
        ({"observation_size": -1}, "observation_size must be at least 0, got -1"),
        ({"device": None}, "device must be one of .*, got None"),
        ({"exact_read": "no"}, "exact_read must be True or False, got 'no'"),
        ({"companions": -1}, "companions must be at least 0, got -1"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        new_memory(**options)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.read(np.zeros(DIMS)), r"keys must have shape \(batch, 3\), got \(3,\); .*key\[None\]"),
        (lambda m: m.read(np.zeros((1, 4))), r"keys must have shape \(batch, 3\), got \(1, 4\)"),
        (lambda m: m.read([[0, NAN, 0]], touch=True), "keys contain NaN or infinity"),
        (lambda m: m.read([[0, 0, 0], [0, -INF, 0]], touch=True), "keys contain NaN or infinity"),
        (
            lambda m: m.find_neighbours(0, np.zeros((2, 2))),
            r"keys must have shape \(batch, 3\), got \(2, 2\)",
        ),
        (lambda m: m.find_neighbours(0, [[0, NAN, 0]]), "keys contain NaN or infinity"),
        (lambda m: m.find_neighbours(2, np.zeros((1, 3))), "action must be from 0 to 1, got 2"),
        (lambda m: m.find_neighbours(-1, np.zeros((1, 3))), "action must be from 0 to 1, got -1"),
        (lambda m: m.entries(2), "action must be from 0 to 1, got 2"),
        (lambda m: m.entries(-1), "action must be from 0 to 1, got -1"),
        (lambda m: m.write(2, np.zeros((1, 3)), [0.0]), "action must be from 0 to 1, got 2"),
        (lambda m: m.write(-1, np.zeros((1, 3)), [0.0]), "action must be from 0 to 1, got -1"),
        (lambda m: m.write(0, np.zeros((1, 2)), [0.0]), r"keys must have shape \(batch, 3\), got \(1, 2\)"),
        (lambda m: m.write(0, np.zeros((2, 3)), [0.0]), r"values must have shape \(2,\) .*, got \(1,\)"),
        (lambda m: m.write(0, np.zeros((1, 3)), [[0.0]]), r"values must have shape \(1,\) .*, got \(1, 1\)"),
        (lambda m: m.write(0, np.zeros((1, 3)), [0.0], states=[1, 2]), r"states must have shape \(1,\)"),
        (lambda m: m.write(0, [[0, INF, 0]], [0.0]), "keys contain NaN or infinity"),
        (lambda m: m.write(0, [[0, 2e15, 0]], [0.0]), r"keys must be from -1e\+15 to 1e\+15, .*, got 2e\+15; scale"),
        (lambda m: m.read([[0, 0, -2e15]]), r"keys must be from -1e\+15 to 1e\+15, .*, got -2e\+15"),
        (lambda m: m.find_neighbours(0, [[0, 0, 3e38]]), r"keys must be from -1e\+15"),
        (lambda m: m.look_up([0], [[0, 0, 3e38]]), r"keys must be from -1e\+15"),
        (lambda m: m.nearest_distances([[0, 0, NAN]]), "keys contain NaN or infinity"),
        (lambda m: m.nearest_distances(3), r"keys must have shape \(batch, 3\), got \(1,\)"),
        (lambda m: m.write(0, np.zeros((1, 3)), [NAN]), "values must be finite, got NaN or infinity"),
        (lambda m: m.write(0, np.ones((2, 3)), [0.0, -INF]), "values must be finite, got NaN or infinity"),
        (lambda m: m.write(0, np.ones((1, 3)), [1e39]), "values must be finite"),
        (lambda m: m.write(0, np.ones((1, 3)), ["x"]), r"values must be real numbers, got \['x'\]"),
        (lambda m: m.write(0, np.ones((1, 3)), [1j]), r"values must be real numbers, got \[1j\]"),
        (lambda m: m.write(0, np.ones((1, 3)), None), "values must be real numbers, got None"),
        (lambda m: m.write(0, [[1, 2], [3]], [0.0]), r"keys must be real numbers, got \[\[1, 2\], \[3\]\]"),
        (
            lambda m: m.write(0, np.ones((1, 3)), [0.0], states=[-1]),
            r"states must be whole numbers from 0 .*, got \[-1",
        ),
        (lambda m: m.write(0, np.ones((1, 3)), [0.0], states=[0.5]), "states must be whole numbers, got"),
        (lambda m: m.write(0, np.ones((1, 3)), [0.0], episode_return="x"), "episode_return must be real numbers"),
        (lambda m: m.write(10**5000, np.ones((1, 3)), [0.0]), "action must be from 0 to 1, got a int that is too long"),
        (lambda m: m.write(None, np.ones((1, 3)), [0.0]), "action must be a whole number, got None"),
        (lambda m: m.read(np.zeros((1, 3)), touch="yes"), "touch must be True or False, got 'yes'"),
        (lambda m: m.read(np.zeros((1, 3)), touch=np.zeros(2)), "touch must be True or False, got array"),
        (lambda m: m.look_up([0.5], np.zeros((1, 3))), r"actions must be whole numbers, got \[0.5\]"),
        (lambda m: m.look_up([2], np.zeros((1, 3))), "actions must be from 0 to 1, got "),
        (lambda m: m.look_up([0, 0], np.zeros((1, 3))), r"actions must have shape \(1,\) as keys do, got \(2,\)"),
        (lambda m: m.adjust([0], [0], [[0, NAN, 0]], [0.0]), "keys contain NaN or infinity"),
        (lambda m: m.adjust([0], [0], [[0, 3e38, 0]], [0.0]), r"keys must be from -1e\+15"),
        (lambda m: m.adjust([0], [0], np.zeros((1, 3)), [NAN]), "values must be finite"),
        (lambda m: m.adjust([0], [20], np.zeros((1, 3)), [0.0]), "slots must be those of entries"),
        (lambda m: m.adjust([0], [-1], np.zeros((1, 3)), [0.0]), "slots must be those of entries"),
        (
            lambda m: m.adjust([0], [0, 0], np.zeros((1, 3)), [0.0]),
            r"slots must have shape \(1,\) as there are actions",
        ),
        (
            lambda m: m.adjust([0], [0], np.zeros((1, 3)), [0.0], companions=[[1.0]]),
            r"companions must have shape \(1, 0\)",
        ),
        (
            lambda m: m.read(np.broadcast_to(np.float32(0), (10**13, 3))),
            r"keys of shape .* takes .* TB, and .* available",
        ),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(act: Callable[[EpisodicMemory], Any], message: str) -> None:
    memory = filled_memory()
    before = memory.state_dict()
    with pytest.raises(InvalidInputError, match=message):
        act(memory)
    assert_same_bits(memory.state_dict(), before)


def test_an_empty_batch_is_read_and_written() -> None:
    memory = filled_memory()
    before = memory.state_dict()
    memory.write(0, np.empty((0, DIMS)), [])
    assert memory.read(np.empty((0, DIMS))).shape == (0, ACTIONS)
    assert_same_bits(memory.state_dict(), before)


@pytest.mark.parametrize("given", [torch.float32, torch.float64, torch.int64], ids=str)
def test_torch_in_gives_torch_out(given: torch.dtype) -> None:
    memory = filled_memory()
    keys = torch.randint(-2, 3, (7, DIMS), generator=torch.Generator().manual_seed(0)).to(given)
    read = memory.read(keys)
    assert isinstance(read, torch.Tensor)
    assert (read.dtype, read.device) == (torch.float32, keys.device)
    np.testing.assert_array_equal(read.numpy(), memory.read(keys.float().numpy()))


def test_torch_keys_that_need_gradients_are_read_and_written_without() -> None:
    ours, theirs = new_memory(), new_memory()
    keys = torch.rand(5, DIMS, generator=torch.Generator().manual_seed(0)).requires_grad_()
    values = keys.sum(dim=1)
    ours.write(0, keys, values)
    theirs.write(0, keys.detach().numpy(), values.detach().numpy())
    assert_same_bits(ours.state_dict(), theirs.state_dict())
    assert not ours.read(keys).requires_grad


@pytest.mark.parametrize(
    "dressed",
    [
        lambda keys: keys.tolist(),
        lambda keys: keys.astype(np.float64),
        lambda keys: keys.astype(">f4"),
        np.asfortranarray,
        lambda keys: np.frombuffer(keys.tobytes(), np.float32).reshape(keys.shape),  # read-only
    ],
    ids=["list", "float64", "big-endian", "Fortran", "read-only"],
)
def test_keys_may_come_in_any_dress(dressed: Callable[[Array], Any]) -> None:
    keys = np.random.default_rng(0).standard_normal((30, DIMS)).astype(np.float32)
    ours, theirs = new_memory(), new_memory()
    ours.write(1, dressed(keys), np.arange(30))
    theirs.write(1, keys, np.arange(30))
    assert_same_bits(ours.state_dict(), theirs.state_dict())
    np.testing.assert_array_equal(ours.read(dressed(keys)), theirs.read(keys))


@pytest.mark.parametrize("strategy", STRATEGIES, ids=label)
def test_reading_without_touch_changes_nothing(strategy: str | Strategy) -> None:
    memory = filled_memory(strategy)
    before = memory.state_dict()
    keys = np.concatenate([before["keys"], np.random.default_rng(0).standard_normal((9, DIMS))])
    first = memory.read(keys)
    assert_same_bits(memory.state_dict(), before)
    assert memory.read(keys).tobytes() == first.tobytes()
    memory.read(keys, touch=True)
    changed = [name for name, array in arrays_of(memory.state_dict()).items() if (array != before[name]).any()]
    uses = {"clock", "last_used" if "last_used" in before else "ranks"}
    assert set(changed) == (uses if memory.strategy.touches else set())


@pytest.mark.parametrize("strategy", STRATEGIES, ids=label)
def test_what_is_handed_out_is_a_copy(strategy: str | Strategy) -> None:
    memory = filled_memory(strategy)
    before: dict[str, Any] = {name: array.copy() for name, array in arrays_of(memory.state_dict()).items()}
    for array in (*memory.entries(0).values(), *arrays_of(memory.state_dict()).values(), memory.size):
        array[:] = 77
    assert_same_bits(arrays_of(memory.state_dict()), before)


def test_what_is_handed_in_is_copied() -> None:
    memory = new_memory()
    keys, values, states = (
        np.ones((4, DIMS), np.float32),
        np.ones(4, np.float32),
        np.arange(4, dtype=np.uint64),
    )
    memory.write(0, keys, values, states=states)
    before = memory.state_dict()
    for array in (keys, values, states):
        array[:] = 77
    assert_same_bits(memory.state_dict(), before)


@pytest.mark.parametrize("capacity", [50, 500, 10_000])
@pytest.mark.parametrize("dims", [2, 4, 6, 64, 128])
@pytest.mark.parametrize("actions", [1, 3])
def test_bytes_per_entry(actions: int, dims: int, capacity: int) -> None:
    memory = EpisodicMemory(actions=actions, key_size=dims, capacity=capacity)
    arrays: list[Any] = [*memory._tables._replace(sketch=()), *memory._tables.sketch]
    assert memory.nbytes == sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    sketched = 88 if is_sketched(capacity, dims) else 0
    assert memory.nbytes <= actions * (capacity + 16) * (4 * dims + 56 + sketched) + 4 * 80 * (dims + 3)


@pytest.mark.parametrize("dims", [3, 128])
def test_keys_that_lie_as_far_apart_as_they_may_are_merged(dims: int) -> None:
    memory = EpisodicMemory(actions=1, key_size=dims, capacity=1, strategy="kmeans")
    for key in (KEY_LIMIT, -KEY_LIMIT):
        memory.write(0, np.full((1, dims), key, np.float32), [0.0])
    np.testing.assert_array_equal(memory.entries(0)["keys"], np.zeros((1, dims)))
    memory.check_valid()


def test_adjust_refuses_what_does_not_fit() -> None:
    memory = EpisodicMemory(actions=2, key_size=3, capacity=4)
    memory.write(0, np.eye(3, dtype=np.float32), [1.0, 2.0, 3.0])
    before = memory.entries(0)
    keys, values = np.ones((1, 3)), np.zeros(1)
    for actions, slots, these in (([-1], [0], keys), ([2], [0], keys), ([0], [3], keys), ([0], [0], np.ones((1, 2)))):
        with pytest.raises(InvalidInputError):
            memory.adjust(actions, slots, these, values)
    with pytest.raises(InvalidInputError, match=r"keys must have shape .* as there are actions"):
        memory.adjust([0, 0], [0, 1], keys, values)
    np.testing.assert_array_equal(memory.entries(0)["keys"], before["keys"])
    memory.adjust([0], [1], keys, values)  # float64 is taken as float32
    np.testing.assert_array_equal(memory.entries(0)["keys"][1], [1, 1, 1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--strategy dkm:decay=1e308 --capacity 1", "decay must be a number from 0 to 1e+06, got 1e+308"),
        ("--capacity 100000000000", "capacity must be at most 1,073,741,824, got 100000000000"),
    ],
)
def test_settings_that_crashed_a_run_are_refused_in_one_line(
    words: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "mfec", "--env", "CartPole-v1", *words.split(), "--out", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


def test_a_memory_for_huge_observations_names_what_to_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "available_memory", lambda: 10**9)
    env = type("Huge", (Corridor,), {"observation_space": gymnasium.spaces.Box(0, 1, (10**6,), np.float32)})
    message = (
        r"capacity 10,000 and keys of size 1,000,000 \(that of an observation.* takes 80.0 GB.* capacity of up to 124"
    )
    with pytest.raises(InvalidInputError, match=message):
        MFEC(env)


def test_what_a_large_batch_would_find_is_compared_with_the_memory_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = EpisodicMemory(actions=1, key_size=64, capacity=1000, neighbours=1000)
    memory.write(0, np.random.default_rng(0).standard_normal((1000, 64)), np.zeros(1000))
    monkeypatch.setattr(checks, "available_memory", lambda: 10**8)
    message = r"what is found for 1,000 keys of size 64 with 1,000 neighbours takes 272.0 MB.*; hand over fewer keys"
    with pytest.raises(InvalidInputError, match=message):
        memory.look_up(np.zeros(1000, np.int64), np.zeros((1000, 64)))


class Liar:
    """No array, whatever it says."""

    def __len__(self) -> int:
        return 2**62

    def __array__(self, *_: object, **__: object) -> object:
        raise LookupError("no array")

    def __repr__(self) -> str:
        raise LookupError("no words")


def test_other_classes_of_arrays_are_taken_for_the_numbers_that_they_hold() -> None:
    one, other = (EpisodicMemory(actions=1, key_size=2, capacity=4) for _ in range(2))
    keys, values = np.array([[1, 2], [3, 4]], np.float32), np.array([1, 2], np.float32)
    one.write(0, keys, values, states=[1, 2])
    other.write(0, keys.view(np.matrix), np.ma.masked_array(values), states=[1, 2])
    np.testing.assert_array_equal(one.read(keys), other.read(keys.view(np.matrix)))
    assert type(other.read(keys.view(np.matrix))) is np.ndarray


def test_objects_that_fail_when_they_are_converted_are_refused() -> None:
    memory = EpisodicMemory(actions=1, key_size=2, capacity=4)
    for call in (lambda: memory.read(Liar()), lambda: memory.write(0, np.zeros((1, 2)), Liar(), states=[1])):
        with pytest.raises(InvalidInputError, match="must be real numbers, got a Liar that cannot be shown"):
            call()


def test_what_is_stored_of_a_state_is_read_by_its_name() -> None:
    memory = EpisodicMemory(actions=2, key_size=1, capacity=2)
    keys = np.array([[1], [2]], np.float32)
    memory.write(0, keys, [5, 6], states=np.array([10, 11], np.uint64))
    memory.write(1, keys[:1], [7], states=np.array([11], np.uint64))
    nothing = float("nan")
    expected = [[6, 7], [nothing, nothing], [5, nothing]]
    np.testing.assert_array_equal(memory.read_stored(np.array([11, 12, 10], np.uint64)), expected)
    memory.write(0, keys[:1] + 5, [8], states=np.array([12], np.uint64))
    np.testing.assert_array_equal(memory.read_stored([10, 12])[:, 0], [nothing, 8])
    assert memory.read_stored(np.zeros(0, np.uint64)).shape == (0, 2)
