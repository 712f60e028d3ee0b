"""The store for GPUs beside the one for CPUs: the same memory. Where there is no GPU, its tensors are on the CPU."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import EpisodicMemory
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.memory.device import DeviceStore
from engram.memory.strategies import CompiledStrategy, Decision, Numbers, Strategy, Write, blend
from tests.examples import examples
from tests.memory.samples import BestEpisodes, Everything, plain_twin
from tests.memory.strategies.test_built_in import NAMES, Operation, streams
from tests.memory.test_strategy_types import Answers

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@dataclass(frozen=True)
class Halves(CompiledStrategy):
    """Blends every state into slot 0 by half, and needs to know nothing for that."""

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return blend(0, 0.5)


def both(**options: object) -> tuple[EpisodicMemory, EpisodicMemory]:
    """A memory on the CPU, and one whose keys are tensors."""
    ours = EpisodicMemory(**options)  # type: ignore[arg-type]
    theirs = EpisodicMemory(**options)  # type: ignore[arg-type]
    store = theirs._store
    theirs._store = type("Store", (DeviceStore,), {"device": DEVICE})(
        actions=theirs.actions,
        key_size=theirs.key_size,
        capacity=theirs.capacity,
        companions=0,
        strategy=theirs.strategy,
        renewal=store.renewal,
        by_episode=theirs.merging == "episode",
        reading=store.reading,
    )
    return ours, theirs


def assert_same(ours: EpisodicMemory, theirs: EpisodicMemory) -> None:
    """The same bits; on a GPU the last ones may differ, as sums have another order there."""
    for action in range(ours.actions):
        mine, yours = ours.entries(action), theirs.entries(action)
        for name, array in mine.items():
            if DEVICE.type == "cpu" or array.dtype.kind != "f":
                np.testing.assert_array_equal(array, yours[name], err_msg=name)
            else:
                np.testing.assert_allclose(array, yours[name], rtol=2e-6, atol=1e-7, err_msg=name)
        assert ours.table_numbers(action) == pytest.approx(
            theirs.table_numbers(action), rel=0 if DEVICE.type == "cpu" else 1e-6
        )
    theirs.check_valid()


OFTEN = ("lru", "fading", "adaptive")  # between them they ask for all that kernels can tell a strategy


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=() if name in OFTEN else pytest.mark.slow) for name in NAMES),
        Everything(),
        *(pytest.param(own, marks=pytest.mark.slow) for own in (BestEpisodes(), Halves())),
    ],
    ids=str,
)
@examples(15)
@given(stream=streams(), neighbours=st.integers(1, 12), kernel=st.sampled_from(["inverse", "mean"]))
def test_a_stream_leaves_the_same(
    name: str | Strategy, stream: tuple[int, int, list[Operation]], neighbours: int, kernel: str
) -> None:
    dims, capacity, operations = stream
    ours, theirs = both(
        actions=2, key_size=dims, capacity=capacity, strategy=name, neighbours=neighbours, kernel=kernel
    )
    for operation in operations:
        if operation.reads:
            np.testing.assert_allclose(
                ours.read(operation.keys, touch=True), theirs.read(operation.keys, touch=True), rtol=1e-6, atol=1e-7
            )
        else:
            for memory in (ours, theirs):
                memory.write(operation.action, operation.keys, operation.values, episode_return=operation.values)
        assert_same(ours, theirs)


@pytest.mark.parametrize(("dims", "size", "k"), [(1, 7, 3), (4, 500, 11), (64, 300, 50), (128, 1000, 11)])
def test_the_search_is_exact(dims: int, size: int, k: int) -> None:
    rng = np.random.default_rng(dims)
    ours, theirs = both(actions=3, key_size=dims, capacity=size, neighbours=k)
    keys = rng.standard_normal((3, size, dims)).astype(np.float32) + 100
    keys[:, size // 2] = keys[:, 1]  # a tie, which the lower slot wins
    for memory in (ours, theirs):
        for action in range(3):
            count = size - action  # not all are full
            memory.write(action, keys[action, :count], np.arange(count), states=np.arange(count))
    queries = np.concatenate([keys[0, :3], rng.standard_normal((20, dims)).astype(np.float32) + 100])
    for action in range(3):
        slots, distances = ours.find_neighbours(action, queries)
        their_slots, their_distances = theirs.find_neighbours(action, queries)
        np.testing.assert_allclose(distances, their_distances, rtol=1e-5)
        assert (slots == their_slots).mean() > 0.999
        np.testing.assert_array_equal(slots[:3, :2], their_slots[:3, :2])
    np.testing.assert_allclose(ours.read(queries), theirs.read(queries), rtol=1e-4)


def test_looking_up_touches_and_finds_the_same() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = both(actions=2, key_size=3, capacity=20, neighbours=4)
    keys = rng.standard_normal((60, 3)).astype(np.float32)
    actions = rng.integers(2, size=10)
    for memory in (ours, theirs):
        memory.write(0, keys[:30], np.arange(30))
        memory.write(1, keys[30:33], np.arange(3))
    mine, yours = (memory.look_up(actions, keys[40:50], touch=True) for memory in (ours, theirs))
    np.testing.assert_array_equal(mine.found, yours.found)
    for row, found in enumerate(mine.found):
        np.testing.assert_array_equal(mine.slots[row, :found], yours.slots[row, :found])
        np.testing.assert_array_equal(mine.keys[row, :found], yours.keys[row, :found].cpu())
        np.testing.assert_array_equal(mine.values[row, :found], yours.values[row, :found].cpu())
    for memory in (ours, theirs):
        memory.adjust(np.array([0, 1]), np.array([3, 2]), keys[50:52], np.array([5, 6], np.float32))
        memory.write(0, keys[52:60], np.arange(8))
    assert_same(ours, theirs)


def test_a_state_goes_from_one_device_to_the_other() -> None:
    rng = np.random.default_rng(0)
    ours, theirs = both(actions=2, key_size=3, capacity=20, strategy="dkm")
    ours.write(1, rng.standard_normal((70, 3)), rng.standard_normal(70))
    theirs.load_state_dict(ours.state_dict())
    assert_same(ours, theirs)
    more = rng.standard_normal((30, 3)).astype(np.float32)
    for memory in (ours, theirs):
        memory.write(1, more, np.ones(30))
    assert_same(ours, theirs)


@pytest.mark.parametrize(("match", "match_key", "kept"), [(0.5, "newer", 3), (0.5, "older", 1), ("max", "newer", 1)])
@pytest.mark.parametrize(
    "strategy", ["lru", Everything(), plain_twin(Everything())], ids=["built in", "compiled", "plain"]
)
def test_the_key_of_a_state_met_again(strategy: str | Strategy, match: str | float, match_key: str, kept: int) -> None:
    options: dict[str, object] = {"match": match, "match_key": match_key, "strategy": strategy}
    ours = EpisodicMemory(actions=1, key_size=1, capacity=2, **options)  # type: ignore[arg-type]
    memories = (
        [ours]
        if not isinstance(ours.strategy, CompiledStrategy)
        else both(actions=1, key_size=1, capacity=2, **options)
    )
    for memory in memories:
        for key, value in ((1.0, 2.0), (3.0, 4.0)):
            memory.write(0, [[key]], [value], states=np.array([7], np.uint64), episode_return=0.0)
        entries = memory.entries(0)
        assert entries["keys"].ravel().tolist() == [kept]
        assert entries["values"].tolist() == [4 if match == "max" else 3]


def test_merging_by_episode_needs_the_cpu() -> None:
    with pytest.raises(InvalidInputError, match=r'merging="episode" needs a memory on the CPU; use device="cpu"'):
        EpisodicMemory(actions=1, key_size=1, capacity=1, strategy="dkm", merging="episode", device="auto")


def test_a_strategy_in_plain_python_needs_the_cpu_and_impossible_decisions_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"a strategy in plain Python, needs a memory on the CPU; use device="):
        both(actions=1, key_size=1, capacity=1, strategy=plain_twin(BestEpisodes()))
    for blends in (Answers(2, 7, 0.5), Answers(1, -1)):
        _, theirs = both(actions=1, key_size=1, capacity=2, strategy=blends)
        with pytest.raises(InvalidInputError, match="Answers: decide must answer"):
            theirs.write(0, np.arange(3)[:, None], np.zeros(3))


def test_what_is_not_finite_is_refused_and_a_missing_gpu_named() -> None:
    _, theirs = both(actions=2, key_size=3, capacity=20)
    with pytest.raises(InvalidInputError, match="NaN or infinity"):
        theirs.read(np.full((1, 3), np.nan))
    if not torch.cuda.is_available():
        with pytest.raises(InvalidInputError, match=r"PyTorch sees no GPU; use \"cpu\" or \"auto\""):
            EpisodicMemory(actions=1, key_size=1, capacity=1, device="cuda")
        assert type(EpisodicMemory(actions=1, key_size=1, capacity=1, device="auto")._store).__name__ == "Store"
