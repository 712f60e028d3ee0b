"""The memory's interface: what it takes, what it refuses, what it keeps, and strategies of one's own."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.hashing import state_of, states_of
from engram.memory.strategies import Decision, Numbers, Strategy, Touch, Write, append, blend, replace
from engram.memory.tables import Tables
from engram.typing import Array

ACTIONS, DIMS, CAPACITY = 2, 3, 20


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
        ({"strategy": "dkm:decay=-1"}, "decay must be a number from 0 .*, got -1.0"),
        ({"strategy": "fading:lifetime=1"}, "lifetime must be a number above 1 .*, got 1.0"),
        ({"strategy": "fading:lifetime=inf"}, "lifetime must be a number above 1 .*, got inf"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        new_memory(**options)


NAN, INF = float("nan"), float("inf")


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
        (lambda m: m.write(0, [[0, INF, 0]], [0.0]), "keys and values to write must be finite"),
        (lambda m: m.write(0, np.zeros((1, 3)), [NAN]), "keys and values to write must be finite"),
        (lambda m: m.write(0, np.ones((2, 3)), [0.0, -INF]), "keys and values to write must be finite"),
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


@pytest.mark.parametrize("operations", [0, 3, 30], ids=["empty", "filling", "full"])
@pytest.mark.parametrize("strategy", STRATEGIES, ids=label)
def test_a_loaded_memory_goes_on_with_the_same_bits(strategy: str | Strategy, operations: int) -> None:
    ours, theirs = new_memory(strategy), filled_memory(strategy)  # theirs holds something else before
    run_stream([ours], seed=2, operations=operations)
    theirs.load_state_dict(ours.state_dict())
    assert_same_bits(theirs.state_dict(), ours.state_dict())
    theirs.check_valid()
    run_stream([ours, theirs], seed=3)
    assert_same_bits(theirs.state_dict(), ours.state_dict())
    keys = np.random.default_rng(0).standard_normal((9, DIMS))
    assert theirs.read(keys).tobytes() == ours.read(keys).tobytes()
    theirs.check_valid()


def without(name: str) -> Callable[[dict[str, Array]], None]:
    return lambda state: state.__delitem__(name)


def put(name: str, array: Any) -> Callable[[dict[str, Array]], None]:
    return lambda state: state.update({name: np.asarray(array)})


FULL = ACTIONS * CAPACITY


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        *((without(name), "memory state must hold clock, keys, ") for name in ("keys", "ranks", "size", "clock")),
        (put("surplus", [0]), "memory state must hold .*, got .*surplus"),
        (put("size", [CAPACITY]), r"memory state must have 2 tables of 0 to 20 entries, got sizes \[20\]"),
        (put("size", [CAPACITY + 1, CAPACITY - 1]), r"of 0 to 20 entries, got sizes \[21, 19\]"),
        (put("size", [-1, CAPACITY]), r"of 0 to 20 entries, got sizes \[-1, 20\]"),
        (put("size", [CAPACITY, CAPACITY - 1]), r"must have shape \(39.*\), got \(40"),
        (put("keys", np.zeros((FULL, DIMS + 1))), r"'keys' must have shape \(40, 3\), got \(40, 4\)"),
        (put("values", np.zeros(FULL - 1)), r"'values' must have shape \(40,\), got \(39,\)"),
        (put("states", np.zeros((FULL, 1), np.uint64)), r"'states' must have shape \(40,\), got \(40, 1\)"),
        (put("writes", [0]), r"'writes' must have shape \(2,\), got \(1,\)"),
        (put("clock", 0), r"'clock' must have shape \(1,\), got \(\)"),
    ],
)
def test_a_state_of_another_shape_is_refused_and_changes_nothing(
    spoil: Callable[[dict[str, Array]], None], message: str
) -> None:
    state = filled_memory().state_dict()
    memory = new_memory()
    run_stream([memory], seed=4, operations=5)
    before = memory.state_dict()
    spoil(state)
    with pytest.raises(InvalidInputError, match=message):
        memory.load_state_dict(state)
    assert_same_bits(memory.state_dict(), before)
    memory.check_valid()


def corrupt(name: str, at: Any, value: Any) -> Callable[[Tables], None]:
    return lambda tables: getattr(tables, name).__setitem__(at, value)


def swap_top(tables: Tables) -> None:
    """Two slots change places in the heap, and know it."""
    tables.heap[1, [0, 1]] = tables.heap[1, [1, 0]]
    tables.place[1, tables.heap[1, :2]] = [0, 1]


def forget_first(tables: Tables) -> None:
    tables.buckets[0, np.flatnonzero(tables.buckets[0])[0]] = 0


def index_twice(tables: Tables) -> None:
    tables.buckets[0, np.flatnonzero(tables.buckets[0] == 0)[0]] = 1


@pytest.mark.parametrize("strategy", ["lru", "rew", "sur", "dkm", "fading"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (corrupt("size", 0, -1), "in table 0 .* size is from 0 to the capacity"),
        (corrupt("size", 0, CAPACITY + 1), "in table 0 .* size is from 0 to the capacity"),
        (corrupt("size", 0, CAPACITY - 1), "in table 0 .* "),
        (corrupt("keys", -1, NAN), "in table 1 .* finite"),
        (corrupt("values", (1, 3), INF), "in table 1 .* finite"),
        (corrupt("ranks", (0, 3), NAN), "in table 0 .* "),
        (corrupt("states", (0, 5), 12345), "in table 0 .* the index finds every state"),
        (forget_first, "in table 0 .* the index holds every slot once"),
        (index_twice, "in table 0 .* the index holds every slot once"),
        (corrupt("heap", (0, 0), CAPACITY - 1), "in table 0 .* the heap holds every slot once"),
        (corrupt("place", (0, slice(None)), 0), "in table 0 .* the heap knows the position of each slot"),
        (swap_top, "in table 1 .* no rank is below its parent's"),
        (corrupt("ranks", (0, slice(None)), np.arange(CAPACITY, 0, -1)), "in table 0 .* rank"),
    ],
)
def test_damage_is_found(strategy: str, damage: Callable[[Tables], None], message: str) -> None:
    memory = filled_memory(strategy)
    memory.check_valid()
    damage(memory._tables)
    with pytest.raises(InvalidInputError, match=f"memory is not valid: {message}"):
        memory.check_valid()


def test_a_state_stored_twice_is_found() -> None:
    memory = filled_memory()
    memory._tables.states[0, 1] = memory._tables.states[0, 0]
    with pytest.raises(InvalidInputError, match="no state is stored twice"):
        memory.check_valid()


def test_damaged_numbers_of_ones_own_strategy_are_found() -> None:
    memory = filled_memory(PlainKMeans())
    memory._store.numbers_of(1)["n"][4] = NAN
    with pytest.raises(InvalidInputError, match=r"in table 1 .* finite"):
        memory.check_valid()


@pytest.mark.parametrize("capacity", [50, 500, 10_000])
@pytest.mark.parametrize("dims", [2, 4, 6, 64, 128])
@pytest.mark.parametrize("actions", [1, 3])
def test_bytes_per_entry(actions: int, dims: int, capacity: int) -> None:
    memory = EpisodicMemory(actions=actions, key_size=dims, capacity=capacity)
    assert memory.nbytes == sum(array.nbytes for array in memory._tables)
    assert memory.nbytes <= actions * capacity * (4 * dims + 48)


def test_equal_observations_are_one_state() -> None:
    observation = np.array([[1.5, 0.0, -2.0], [0.0, 3.0, 4.0]], np.float32)
    state = state_of(observation)
    assert state_of(np.where(observation == 0, -observation, observation)) == state  # −0 is 0
    assert state_of(observation.astype(">f4")) == state
    assert state_of(np.asfortranarray(observation)) == state
    assert state_of(np.repeat(observation, 2, axis=1)[:, ::2]) == state
    assert states_of(np.stack([observation, observation])).tolist() == [state, state]
    assert states_of(observation).tolist() == [state_of(row) for row in observation]
    frame = np.arange(12, dtype=np.int32)
    assert state_of(frame.astype(">i4")) == state_of(frame)


def test_different_observations_are_different_states() -> None:
    zeros = [np.zeros(size, np.float32) for size in range(1, 20)]
    ones = [np.eye(19, dtype=np.float32)[i] for i in range(19)]
    frames = [np.full((2, 2), level, np.uint8) for level in range(1, 256)]
    states = [state_of(observation) for observation in (*zeros, *ones, *frames)]
    assert len(set(states)) == len(states)


def test_states_have_the_same_names_in_every_version() -> None:
    """XXH64 with seed 0 of the little-endian bytes: part of the file format."""
    assert state_of(np.array([], np.float32)) == 0xEF46DB3751D8E999  # the specification's value for no bytes
    assert state_of(np.frombuffer(b"abc", np.uint8)) == 0x44BC2CF5AD770999  # the specification's "abc"
    assert state_of(np.array([1.5, -0.0, -2.0, 0.25], np.float32)) == 0x89846C29155A4D6D
    rows = np.arange(8, dtype=np.float64).reshape(2, 4)
    assert states_of(rows).tolist() == [0x1BF5B6339BCAB231, 0xE57A62A72C4EE33F]


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
    assert asked[:5] == ignorant[:5] == (2, 2, 3, 0, 7.0)  # size, capacity, clock, writes, value
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

    memory = new_memory(Undecided(), capacity=1)
    memory.write(0, np.zeros((1, DIMS)), [0.0])
    with pytest.raises(NotImplementedError, match="Undecided must define when_full"):
        memory.write(0, np.ones((1, DIMS)), [0.0])


@pytest.mark.parametrize("dims", [3, 128])
def test_keys_that_lie_as_far_apart_as_floats_can_are_merged(dims: int) -> None:
    memory = EpisodicMemory(actions=1, key_size=dims, capacity=1, strategy="kmeans")
    for key in (3e38, -3e38):
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
    with pytest.raises(InvalidInputError, match="as many slots"):
        memory.adjust([0, 0], [0, 1], keys, values)
    np.testing.assert_array_equal(memory.entries(0)["keys"], before["keys"])
    memory.adjust([0], [1], keys, values)  # float64 is taken as float32
    np.testing.assert_array_equal(memory.entries(0)["keys"][1], [1, 1, 1])
