"""Every strategy against the slow oracle: same keys, values, numbers and order of replacement."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, log1p

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import EpisodicMemory
from engram.memory.strategies import DynamicKMeans, FadingKMeans, Strategy, get_strategy
from engram.typing import Floats
from tests.examples import examples
from tests.memory.oracle import AdaptiveTable, Table

NAMES = ["lru", "rew", "sur", "kmeans", "dkm", "dkm:decay=0.3", "dkm:decay=0", "dkm:decay=2.5"]
NAMES += ["fading", "fading:lifetime=1.1", "fading:lifetime=2.5"]
NAMES += ["adaptive", "adaptive:lifetime=2.5,favour=2"]
ROUNDING = {"fading": (1e-6, 1e-12), "adaptive": (1e-6, 1e-9)}  # of float32s and float64s; of others nothing
ACTIONS = 2


@dataclass(frozen=True)
class Operation:
    reads: bool
    action: int
    keys: Floats
    values: Floats


@st.composite
def streams(draw: st.DrawFn) -> tuple[int, int, list[Operation]]:
    """A key size, a capacity, and reads and writes over a few grid points, so that states repeat and tie."""
    dims = draw(st.integers(1, 3))
    capacity = draw(st.integers(1, 8))
    points = st.lists(st.integers(-2, 2), min_size=dims, max_size=dims)
    operations = []
    for _ in range(draw(st.integers(1, 12))):
        keys = np.array(draw(st.lists(points, min_size=1, max_size=12)), np.float32)
        values = draw(st.lists(st.integers(-3, 3), min_size=len(keys), max_size=len(keys)))
        operations.append(
            Operation(draw(st.booleans()), draw(st.integers(0, ACTIONS - 1)), keys, np.array(values, np.float32))
        )
    return dims, capacity, operations


def oracle_tables(strategy: Strategy, capacity: int, **settings: object) -> list[Table]:
    options = {name: Fraction(str(number)) for name, number in strategy.options.items()}
    kind = AdaptiveTable if strategy.name == "adaptive" else Table
    return [kind(capacity, strategy.name, **options, **settings) for _ in range(ACTIONS)]  # type: ignore[arg-type]


def assert_same(memory: EpisodicMemory, tables: list[Table]) -> None:
    """The same to the last bit; what depends on a logarithm, to within rounding. States tell what was replaced."""
    single, double = ROUNDING.get(memory.strategy.name, (0, 0))
    for action, table in enumerate(tables):
        ours = memory.entries(action)
        assert len(ours["values"]) == len(table.entries)
        np.testing.assert_array_equal(ours["states"], [entry.state for entry in table.entries])
        keys = [entry.key for entry in table.entries] or ours["keys"]
        np.testing.assert_allclose(ours["keys"], keys, rtol=single, atol=single)
        values = [entry.value for entry in table.entries]
        np.testing.assert_allclose(ours["values"], values, rtol=single, atol=single)
        for name in set(ours) - {"keys", "values", "states"}:
            theirs = [float(getattr(entry, name)) for entry in table.entries]
            np.testing.assert_allclose(ours[name], theirs, rtol=double, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("step", [None, 0.25])
@examples(40)
@given(stream=streams(), neighbours=st.integers(1, 12), kernel=st.sampled_from(["inverse", "mean"]))
def test_a_stream_leaves_what_the_oracle_has(
    name: str,
    step: float | None,
    stream: tuple[int, int, list[Operation]],
    neighbours: int,
    kernel: str,
) -> None:
    dims, capacity, operations = stream
    memory = EpisodicMemory(
        actions=ACTIONS,
        key_size=dims,
        capacity=capacity,
        strategy=name,
        neighbours=neighbours,
        kernel=kernel,  # type: ignore[arg-type]
        match=step or "max",
        exact_read=step is None,
    )
    tables = oracle_tables(
        memory.strategy, capacity, neighbours=neighbours, kernel=kernel, step=step, exact_read=step is None
    )
    clock = 0
    for operation in operations:
        if operation.reads:
            expected = [[table.read(key) for table in tables] for key in operation.keys]
            np.testing.assert_allclose(memory.read(operation.keys, touch=True), expected, rtol=1e-6, atol=1e-7)
            for key in operation.keys:
                clock += memory.strategy.touches
                for table in tables:
                    table.touch(key, clock)
        else:
            memory.write(operation.action, operation.keys, operation.values)
            states = memory_states(operation.keys)
            for key, value, state in zip(operation.keys, operation.values, states, strict=True):
                clock += 1
                tables[operation.action].write(key, value, state, clock)
        assert_same(memory, tables)
        memory.check_valid()


def memory_states(keys: Floats) -> list[int]:
    """Which state each key is, found out by letting a large memory store it."""
    memory = EpisodicMemory(actions=1, key_size=keys.shape[1], capacity=1)
    states = []
    for key in keys:
        memory.write(0, key[None], [0.0])
        states.append(int(memory.entries(0)["states"][0]))
    return states


@pytest.mark.parametrize("name", NAMES)
def test_a_long_stream_replaces_in_the_same_order(name: str) -> None:
    """Thousands of writes with real-valued keys: what a grid of small integers cannot show."""
    rng = np.random.default_rng(7)
    memory = EpisodicMemory(actions=1, key_size=3, capacity=37, strategy=name, neighbours=5)
    (table, _) = oracle_tables(memory.strategy, 37, neighbours=5)
    clock = 0
    pool = rng.standard_normal((200, 3)).astype(np.float32)
    for _ in range(60):
        keys = pool[rng.integers(len(pool), size=25)]
        values = rng.standard_normal(25).astype(np.float32)
        states = rng.integers(2**63, size=25).astype(np.uint64) if name == "sur" else None
        clock += memory.strategy.touches
        memory.read(keys[:1], touch=True)
        table.touch(keys[0], clock)
        memory.write(0, keys, values, states=states)
        for i, state in enumerate(memory_states(keys) if states is None else states.tolist()):
            clock += 1
            table.write(keys[i], values[i], state, clock)
        assert_same(memory, [table])
    assert table.replaced or name in ("kmeans", "dkm:decay=0")


def test_where_there_is_room_all_strategies_are_the_same() -> None:
    rng = np.random.default_rng(3)
    keys = rng.integers(0, 4, (300, 2)).astype(np.float32)
    values = rng.standard_normal(300).astype(np.float32)
    memories = [EpisodicMemory(actions=1, key_size=2, capacity=17, strategy=name) for name in NAMES]
    for memory in memories:
        memory.write(0, keys, values)
        assert memory.size.tolist() == [16]
        for name in ("keys", "values", "states"):
            np.testing.assert_array_equal(memory.entries(0)[name], memories[0].entries(0)[name])


@pytest.mark.parametrize("decay", [1.0, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("capacity", [3, 7, 10, 49])
def test_an_entry_expires_at_the_write_that_fractions_say(decay: float, capacity: int) -> None:
    """n = 1 − decay · t/N reaches 0 at t = N/decay, also where floating point would be off by one."""
    memory = EpisodicMemory(actions=1, key_size=1, capacity=capacity, strategy=DynamicKMeans(decay))
    memory.write(0, np.arange(capacity, dtype=np.float32)[:, None] * 100, np.zeros(capacity))
    writes = 0
    while not (memory.entries(0)["values"] == 7).any():
        memory.write(0, np.zeros((1, 1)), [7.0 if _expired(memory) else 0.0])
        writes += 1
    expiry = Fraction(capacity) / Fraction(str(decay))
    assert writes - 1 == -(-expiry.numerator // expiry.denominator)


def _expired(memory: EpisodicMemory) -> bool:
    return bool((memory.entries(0)["n"] <= 0).any())


@pytest.mark.parametrize("lifetime", [1.1, 2.5, 10.0])
@pytest.mark.parametrize("capacity", [2, 7, 49])
def test_a_cluster_that_nothing_is_merged_into_lasts_until_it_is_half(lifetime: float, capacity: int) -> None:
    """n = gᵗ falls below ½ at t = ln ½ / ln g, which is about 0.7 lifetime · N."""
    memory = EpisodicMemory(actions=1, key_size=1, capacity=capacity, strategy=FadingKMeans(lifetime))
    memory.write(0, np.arange(capacity, dtype=np.float32)[:, None] * 100, np.zeros(capacity))
    writes = 0
    while not (memory.entries(0)["values"] == 7).any():
        memory.write(0, np.zeros((1, 1)), [7.0 if (memory.entries(0)["n"] < 0.5).any() else 0.0])
        writes += 1
    assert writes - 1 == ceil(log(0.5) / log1p(-1 / (lifetime * capacity)))
    assert memory.entries(0)["values"].tolist() == [0, 7, *[0] * (capacity - 2)]  # of equals, the lowest slot


@pytest.mark.parametrize("capacity", [1, 2, 3])
@pytest.mark.parametrize("lifetime", [1.1, 10.0])
def test_counts_are_still_right_after_hundreds_of_thousands_of_writes(lifetime: float, capacity: int) -> None:
    """By then g to the number of writes, and its inverse, have long been beyond what a float64 can hold."""
    rng = np.random.default_rng(1)
    keys = np.repeat(rng.standard_normal(10_000), 20).astype(np.float32)  # each state so often that others fade
    g = 1 - 1 / (lifetime * capacity)
    assert g ** len(keys) == 0
    memory = EpisodicMemory(actions=1, key_size=1, capacity=capacity, strategy=FadingKMeans(lifetime))
    memory.write(0, keys[:, None], keys, states=np.arange(len(keys)))
    states, centres, counts = list(range(capacity)), keys[:capacity].tolist(), [1.0] * capacity
    for state, key in enumerate(keys.tolist()[capacity:], capacity):
        smallest = min(range(capacity), key=counts.__getitem__)
        if counts[smallest] < 0.5:
            states[smallest], centres[smallest], counts[smallest] = state, key, 1.0
        else:
            nearest = min(range(capacity), key=lambda i: abs(centres[i] - key))
            centres[nearest] += (key - centres[nearest]) / (counts[nearest] + 1)
            counts[nearest] += 1
        counts = [n * g for n in counts]
    ours = memory.entries(0)
    assert ours["states"].tolist() == states
    np.testing.assert_allclose(ours["n"], counts, rtol=1e-6)
    np.testing.assert_allclose(ours["keys"][:, 0], centres, rtol=1e-5, atol=1e-5)
    memory.check_valid()


def test_blending_is_the_papers_mean() -> None:
    """(n c + s)/(n + 1) over many merges is the mean of all states of the cluster."""
    rng = np.random.default_rng(0)
    keys = rng.standard_normal((1000, 4)).astype(np.float32)
    values = rng.standard_normal(1000).astype(np.float32)
    memory = EpisodicMemory(actions=1, key_size=4, capacity=1, strategy="kmeans")
    memory.write(0, keys, values)
    np.testing.assert_allclose(memory.entries(0)["keys"][0], keys.mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(memory.entries(0)["values"][0], values.mean(), atol=1e-5)
    assert memory.entries(0)["n"].tolist() == [1000]


def test_options_go_with_the_name() -> None:
    assert get_strategy("dkm:decay=0.3") == DynamicKMeans(decay=0.3)
    assert get_strategy("dkm") == DynamicKMeans(decay=1.0)
    assert get_strategy("fading:lifetime=20") == FadingKMeans(lifetime=20)
    assert get_strategy("fading") == FadingKMeans(lifetime=10)
