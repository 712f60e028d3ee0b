"""The search that devices do, in plain PyTorch and in Triton's kernels, against NumPy.

Without a GPU Triton's interpreter runs the kernels, if Triton is there.
"""

import os
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import EpisodicMemory
from engram.devices import torch
from engram.memory import device
from engram.memory.device_search import Search, plan_all, plan_each, unpack
from engram.typing import Floats, Ints, Longs
from tests.examples import examples
from tests.memory.test_device import assert_same, both

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is imported

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TRITON = pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
KINDS = ["plain", pytest.param("fused", marks=TRITON)]


def make(kind: str, keys: Floats, sizes: Longs) -> Search:
    if kind == "plain":
        search = Search(torch.from_numpy(keys).to(DEVICE))
    else:
        from engram.memory.fused import FusedSearch  # noqa: PLC0415 (needs Triton)

        search = FusedSearch(torch.from_numpy(keys).to(DEVICE))
    search.note_sizes(sizes)
    return search


def rows_of(tables: int, queries: int, actions: Longs | None) -> list[tuple[int, int]]:
    """Query and table of each row."""
    if actions is not None:
        return list(enumerate(actions.tolist()))
    return [(query, table) for query in range(queries) for table in range(tables)]


def oracle(keys: Floats, sizes: Longs, queries: Floats, rows: list[tuple[int, int]]) -> Floats:
    """d² of every row, in float64 and then rounded."""
    d2 = np.full((len(rows), keys.shape[1]), np.inf, np.float32)
    for row, (query, table) in enumerate(rows):
        near = keys[table, : sizes[table]].astype(np.float64) - queries[query]
        d2[row, : sizes[table]] = (near**2).sum(1)
    return d2


def assert_exact(search: Search, keys: Floats, sizes: Longs, queries: Floats, actions: Longs | None, k: int) -> None:
    rows = rows_of(len(keys), len(queries), actions)
    plan: Ints = plan_all(len(keys), len(queries)) if actions is None else plan_each(len(keys), actions)
    d2 = search.square_distances(queries, plan).cpu().numpy()
    np.testing.assert_allclose(d2, oracle(keys, sizes, queries, rows), rtol=1e-5)
    found = unpack(search.nearest(queries, plan, k))
    expected = np.argsort(d2, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found.slots, expected)
    np.testing.assert_array_equal(found.distances, np.take_along_axis(d2, expected, 1))
    assert found.usable


@pytest.mark.parametrize("kind", KINDS)
@examples(25)
@given(data=st.data())
def test_the_search_is_exact_and_ties_go_to_the_lowest_slot(kind: str, data: st.DataObject) -> None:
    tables, dims = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 5))
    capacity, count = data.draw(st.integers(1, 300)), data.draw(st.integers(1, 4))
    k = data.draw(st.integers(1, min(capacity, 20)))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    keys = rng.integers(-2, 3, (tables, capacity, dims)).astype(np.float32)  # few points, so many ties
    queries = rng.integers(-2, 3, (count, dims)).astype(np.float32)
    sizes = rng.integers(0, capacity + 1, tables)
    search = make(kind, keys, sizes)
    assert_exact(search, keys, sizes, queries, None, k)
    assert_exact(search, keys, sizes, queries, rng.integers(tables, size=count), k)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("dims", "capacity", "k"), [(128, 1000, 50), (100, 700, 11), (64, 129, 129), (6, 3000, 11), (1024, 50, 3)]
)
def test_many_tiles_and_wide_keys(kind: str, dims: int, capacity: int, k: int) -> None:
    rng = np.random.default_rng(dims)
    keys = rng.standard_normal((2, capacity, dims), np.float32)
    keys[:, capacity // 2] = keys[:, 1]  # a tie
    keys[0, 200:260] = keys[0, :1] + rng.standard_normal((len(keys[0, 200:260]), dims), np.float32) / 100  # a cluster
    queries = np.concatenate([keys[0, :2], rng.standard_normal((3, dims), np.float32)])
    sizes = np.array([capacity, capacity - 5])
    search = make(kind, keys, sizes)
    for _ in range(5):  # on a GPU the later ones are replayed
        assert_exact(search, keys, sizes, queries, None, k)
    assert_exact(search, keys, sizes, queries, np.array([1, 0, 1, 1, 0]), k)
    sizes = np.array([0, 1])
    search.note_sizes(sizes)
    assert_exact(search, keys, sizes, queries, None, k)


@pytest.mark.parametrize("kind", KINDS)
def test_queries_that_are_not_finite_are_noticed(kind: str) -> None:
    rng = np.random.default_rng(0)
    search = make(kind, rng.standard_normal((2, 40, 3), np.float32), np.array([40, 0]))
    for bad in (np.nan, np.inf, -np.inf):
        queries = rng.standard_normal((4, 3), np.float32)
        queries[2, 1] = bad
        for plan in (plan_all(2, 4), plan_each(2, np.array([0, 0, 1, 1]))):
            assert not unpack(search.nearest(queries, plan, 5)).usable


@pytest.fixture
def fused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memories with tensors search by Triton's kernels, also on the CPU."""
    from engram.memory.fused import FusedSearch  # noqa: PLC0415 (needs Triton)

    monkeypatch.setattr(device, "make_search", lambda keys, neighbours: FusedSearch(keys))


@TRITON
@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("strategy", ["lru", "sur", "dkm"])
def test_a_memory_that_searches_by_kernels_stays_the_same(strategy: str) -> None:
    rng = np.random.default_rng(0)
    ours, theirs = both(actions=2, key_size=3, capacity=20, neighbours=4, strategy=strategy)
    for _ in range(6):
        keys, values = rng.integers(-2, 3, (8, 3)).astype(np.float32), rng.integers(5, size=8).astype(np.float32)
        action, actions = int(rng.integers(2)), rng.integers(2, size=8)
        for memory in (ours, theirs):
            memory.write(action, keys, values)
        mine, yours = (memory.look_up(actions, keys, touch=True) for memory in (ours, theirs))
        for row, found in enumerate(mine.found):
            np.testing.assert_array_equal(mine.slots[row, :found], yours.slots[row, :found])
        np.testing.assert_allclose(ours.read(keys, touch=True), theirs.read(keys, touch=True), rtol=1e-6, atol=1e-7)
        assert_same(ours, theirs)
    theirs.load_state_dict(ours.state_dict())
    np.testing.assert_allclose(ours.read(keys), theirs.read(keys), rtol=1e-6, atol=1e-7)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU")
@TRITON
@pytest.mark.parametrize("graphs", [False, True])
def test_a_recorded_search_sees_what_has_changed(monkeypatch: pytest.MonkeyPatch, graphs: bool) -> None:
    from engram.memory.fused import FusedSearch  # noqa: PLC0415 (needs Triton)

    monkeypatch.setattr(FusedSearch, "graphs", graphs)
    rng = np.random.default_rng(0)
    options = {"actions": 2, "key_size": 8, "capacity": 300, "neighbours": 5}
    memories = [EpisodicMemory(**options, device=name) for name in ("cpu", "cuda")]  # type: ignore[arg-type]
    queries = rng.standard_normal((3, 8), np.float32)
    for turn in range(12):
        keys = rng.standard_normal((40, 8), np.float32)
        for memory in memories:
            memory.write(turn % 2, keys, np.arange(40))
        if turn == 9:
            memories[1].load_state_dict(memories[0].state_dict())
        for batch in (queries, queries[:1]):
            mine, yours = (memory.read(batch, touch=True) for memory in memories)
            np.testing.assert_allclose(mine, yours, rtol=1e-4)
