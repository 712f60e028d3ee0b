"""The search is exact: against FAISS, scikit-learn and brute force in double precision, at every shape."""

import faiss
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from engram import EpisodicMemory
from engram.memory.arguments import KEY_LIMIT, WIDEST
from engram.typing import Doubles, Floats, Longs
from tests.examples import examples

DIMS = [1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 64, 127, 128, 512]
CAPACITIES = [1, 63, 64, 65, 128, 200]  # around the width of a block
KINDS = ["random", "clustered", "duplicated", "far"]
QUERIES = 4

faiss.omp_set_num_threads(1)


def tolerance(dims: int) -> float:
    """The relative error of a float32 d² over d dimensions.

    With u = 2⁻²⁴, every difference is off by at most u, its square by 2u + u, and a sum of d terms by
    (d − 1) u; no term is negative, so nothing cancels, wherever the data lie and in whatever order they are
    summed.
    """
    return (dims + 3) * 2.0**-24


def make_keys(kind: str, rows: int, dims: int, rng: np.random.Generator) -> Floats:
    keys = rng.standard_normal((rows, dims))
    if kind == "clustered":
        keys = 10 * keys[rng.integers(min(rows, 5), size=rows)] + 0.01 * rng.standard_normal((rows, dims))
    if kind == "duplicated":
        keys = keys[rng.integers(rows // 4 + 1, size=rows)]
    if kind == "far":
        keys = keys + 1e4
    return keys.astype(np.float32)


def filled(tables: list[Floats], *, capacity: int = 0, **options: object) -> EpisodicMemory:
    """A memory with these keys in slots 0, 1, …; an entry's value is ten times its action plus its slot."""
    memory = EpisodicMemory(
        actions=len(tables),
        key_size=tables[0].shape[1],
        capacity=capacity or max(len(keys) for keys in tables),
        **options,  # type: ignore[arg-type]
    )
    for action, keys in enumerate(tables):
        memory.write(action, keys, 10 * action + np.arange(len(keys)), states=np.arange(len(keys)))
    return memory


def squared_distances(keys: Floats, queries: Floats) -> Doubles:
    differences = queries.astype(np.float64)[:, None] - keys.astype(np.float64)
    squared: Doubles = np.square(differences).sum(axis=2)
    return squared


def assert_nearest(slots: Longs, distances: Floats, true: Doubles, rtol: float) -> None:
    """These are the nearest by the true distances of one query to all entries, up to the tolerance."""
    found = len(slots)
    order = np.argsort(true, kind="stable")
    ranked = np.append(true[order], np.inf)
    np.testing.assert_allclose(distances, ranked[:found], rtol=rtol)
    np.testing.assert_allclose(distances, true[slots], rtol=rtol)
    assert len(set(slots.tolist())) == found
    assert (np.diff(distances) >= 0).all()
    assert (np.diff(slots)[np.diff(distances) == 0] > 0).all(), "ties go to the lowest slot"
    gaps = np.diff(ranked) > 2 * rtol * ranked[:-1]  # whether a rank is told from the next one
    alone = gaps[:found] & np.append(True, gaps)[:found]
    np.testing.assert_array_equal(slots[alone], order[:found][alone])


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_those_of_three_other_searches(kind: str, dims: int, capacity: int) -> None:
    """Three tables of one memory: full, one short of it, half full; k from 1 to beyond the entries."""
    rng = np.random.default_rng([dims, capacity, KINDS.index(kind)])
    rtol = tolerance(dims)
    keys = make_keys(kind, capacity + QUERIES, dims, rng)
    keys, queries = keys[:capacity], keys[capacity:]
    queries[0] = keys[-1]
    tables = [keys, keys[: capacity - 1], keys[::-1][: (capacity + 1) // 2].copy()]
    memories = [filled(tables, neighbours=k) for k in (1, 2, 11, capacity, capacity + 5)]
    for action, table in enumerate(tables):
        np.testing.assert_array_equal(memories[0].entries(action)["keys"], table)
        if not len(table):
            continue
        true = squared_distances(table, queries)
        index = faiss.IndexFlatL2(dims)
        index.add(table)
        by_faiss = np.concatenate([index.search(query[None], len(table))[0] for query in queries])
        peer = NearestNeighbors(n_neighbors=len(table), algorithm="brute").fit(table.astype(np.float64))
        by_sklearn = peer.kneighbors(queries.astype(np.float64))[0] ** 2
        # scikit-learn computes ‖x‖² − 2xy + ‖y‖² in double precision: its error grows with the norms
        lost = 1e-14 * np.square(keys.astype(np.float64)).sum(axis=1).max()
        for memory in memories:
            slots, distances = memory.find_neighbours(action, queries)
            found = min(memory.neighbours, len(table))
            assert slots.shape == distances.shape == (QUERIES, found)
            np.testing.assert_allclose(distances, by_faiss[:, :found], rtol=2 * rtol)
            np.testing.assert_allclose(distances, by_sklearn[:, :found], rtol=rtol, atol=lost)
            for b in range(QUERIES):
                assert_nearest(slots[b], distances[b], true[b], rtol)


def test_a_large_table_gives_the_neighbours_of_faiss() -> None:
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((3001, 128)).astype(np.float32)
    queries = keys[::300] + np.float32(0.3) * rng.standard_normal((11, 128)).astype(np.float32)
    slots, distances = filled([keys], capacity=4000, neighbours=50).find_neighbours(0, queries)
    index = faiss.IndexFlatL2(128)
    index.add(keys)
    for b, true in enumerate(squared_distances(keys, queries)):
        assert_nearest(slots[b], distances[b], true, tolerance(128))
        np.testing.assert_array_equal(slots[b], index.search(queries[b : b + 1], 50)[1][0])


@examples(150)
@given(data=st.data())
def test_ties_go_to_the_lowest_slot(data: st.DataObject) -> None:
    """On a small grid every d² is a whole number and exact, and many are equal."""
    dims = data.draw(st.sampled_from([1, 2, 3, 4, 5, 33, 65]), "dims")
    size = data.draw(st.integers(1, 140), "size")
    capacity = data.draw(st.integers(size, 150), "capacity")
    neighbours = data.draw(st.integers(1, 150), "neighbours")
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32), "seed"))
    keys = rng.integers(-1, 2, (size, dims)).astype(np.float32)
    queries = rng.integers(-1, 2, (3, dims)).astype(np.float32)
    slots, distances = filled([keys], capacity=capacity, neighbours=neighbours).find_neighbours(0, queries)
    true = squared_distances(keys, queries)
    expected = np.argsort(true, axis=1, kind="stable")[:, :neighbours]
    np.testing.assert_array_equal(slots, expected)
    np.testing.assert_array_equal(distances, np.take_along_axis(true, expected, axis=1))


@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("scale", [1e-10, 1.0, 1e4, 4e14])
def test_no_distance_is_zero_but_that_of_an_equal_key(dims: int, scale: float) -> None:
    """One ulp in one dimension is a distance.

    As long as its square is one of float32's numbers, that is: keys that are less than 2.6e-23 apart in
    every dimension have d² = 0, since the squares underflow.
    """
    rng = np.random.default_rng(dims)
    query = (scale * rng.uniform(1, 2, dims) * rng.choice([-1, 1], dims)).astype(np.float32)
    off = np.repeat(query[None], 2 * dims, axis=0)
    for dim in range(dims):
        off[dim, dim] = np.nextafter(query[dim], np.float32(np.inf))
        off[dims + dim, dim] = np.nextafter(query[dim], np.float32(-np.inf))
    memory = filled([np.concatenate([off, query[None]])], neighbours=2 * dims + 1)
    slots, distances = memory.find_neighbours(0, query[None])
    assert slots[0, 0] == 2 * dims
    assert distances[0, 0] == 0
    assert (distances[0, 1:] > 0).all()
    assert memory.read(query[None])[0, 0] == 2 * dims
    without = filled([off], neighbours=2 * dims, kernel="mean")
    assert without.read(query[None])[0, 0] == dims - 0.5  # nothing matches: the mean of all slots


def test_minus_zero_is_where_zero_is() -> None:
    memory = filled([np.array([[1.0, -0.0], [0.0, -0.0]], np.float32)])
    slots, distances = memory.find_neighbours(0, np.array([[-0.0, 0.0]]))
    assert (slots.tolist(), distances.tolist()) == ([[1, 0]], [[0.0, 1.0]])


@pytest.mark.parametrize("dims", [1, 4, 33, 128])
@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_has_the_bits_of_its_queries_alone(kind: str, dims: int) -> None:
    rng = np.random.default_rng(dims)
    keys = make_keys(kind, 250, dims, rng)
    memory = filled([keys[:200], keys[100:130]], neighbours=7)
    queries = keys[170:]
    alone = [memory.read(query[None]) for query in queries]
    assert memory.read(queries).tobytes() == np.concatenate(alone).tobytes()
    for action in range(2):
        slots, distances = memory.find_neighbours(action, queries)
        for b in range(len(queries)):
            slots_alone, distances_alone = memory.find_neighbours(action, queries[b : b + 1])
            assert slots[b].tobytes() == slots_alone.tobytes()
            assert distances[b].tobytes() == distances_alone.tobytes()


@pytest.mark.parametrize("exact_read", [True, False])
@pytest.mark.parametrize("delta", [1e-3, 0.5])
@pytest.mark.parametrize("kernel", ["inverse", "mean"])
def test_reads_are_numpys_weighted_mean(kernel: str, delta: float, exact_read: bool) -> None:
    rng = np.random.default_rng(5)
    dims, size, neighbours = 6, 90, 9
    keys = rng.standard_normal((size, dims)).astype(np.float32)
    keys[40] = keys[7]  # an exact match twice: the lowest slot's value
    values = rng.standard_normal((2, size)).astype(np.float32)
    memory = EpisodicMemory(
        actions=2,
        key_size=dims,
        capacity=100,
        neighbours=neighbours,
        delta=delta,
        kernel=kernel,  # type: ignore[arg-type]
        exact_read=exact_read,
    )
    sizes = (size, 5)  # the second table has fewer entries than neighbours
    for action, entries in enumerate(sizes):
        memory.write(action, keys[:entries], values[action, :entries], states=np.arange(entries))
    queries = np.concatenate([keys[[40, 3]], rng.standard_normal((20, dims)).astype(np.float32)])
    expected = np.empty((len(queries), 2))
    for action, entries in enumerate(sizes):
        for b, true in enumerate(squared_distances(keys[:entries], queries)):
            slots = np.argsort(true, kind="stable")[:neighbours]
            weights = 1 / (true[slots] + delta) if kernel == "inverse" else np.ones(len(slots))
            expected[b, action] = np.average(values[action, slots], weights=weights)
            if exact_read and true[slots[0]] == 0:
                expected[b, action] = values[action, slots[0]]
    read = memory.read(queries)
    assert (read.shape, read.dtype) == ((22, 2), np.float32)
    # every weight is off by the relative error of its d², so the mean by twice that of the largest value
    np.testing.assert_allclose(read, expected, rtol=0, atol=2 * tolerance(dims) * np.abs(values).max())


@pytest.mark.parametrize("dims", [3, 128])
def test_keys_as_far_apart_as_they_may_be_have_finite_distances(dims: int) -> None:
    keys = np.full((100, dims), KEY_LIMIT, np.float32)
    memory = filled([keys, np.concatenate([keys, np.zeros((1, dims), np.float32)])], neighbours=5)
    query = np.full((1, dims), -KEY_LIMIT, np.float32)
    slots, distances = memory.find_neighbours(0, query)
    assert slots.tolist() == [[0, 1, 2, 3, 4]]
    np.testing.assert_allclose(distances, 4 * dims * KEY_LIMIT**2, rtol=1e-5)
    assert np.isfinite(memory.read(query)).all()
    # one entry that is near outweighs all that are far
    np.testing.assert_allclose(memory.read(np.ones((1, dims), np.float32)), [[2.0, 110.0]])


def test_the_widest_keys_that_are_allowed_have_finite_distances() -> None:
    assert np.finfo(np.float32).max / 4 > WIDEST * (2 * KEY_LIMIT) ** 2


def test_an_empty_table_reads_zero() -> None:
    keys = np.ones((3, 2), np.float32)
    memory = filled([keys[:0], keys, keys[:0]], capacity=70)
    queries = np.zeros((4, 2), np.float32)
    np.testing.assert_array_equal(memory.read(queries), [[0.0, 11.0, 0.0]] * 4)
    slots, distances = memory.find_neighbours(2, queries)
    assert slots.shape == distances.shape == (4, 0)
