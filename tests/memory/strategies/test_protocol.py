"""What strategies are told and what becomes of their answers: compiled, in plain Python and by the oracle."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram import EpisodicMemory
from engram.errors import InvalidInputError
from engram.hashing import states_of
from engram.memory.strategies import (
    STRATEGIES,
    CompiledStrategy,
    Decision,
    DynamicKMeans,
    FadingKMeans,
    KMeans,
    LeastRecentlyUsed,
    MaximiseSurprise,
    Numbers,
    Strategy,
    Touch,
    Write,
    blend,
    discard,
    get_strategy,
    replace,
)
from engram.memory.tables import MOST_ENTRIES
from engram.memory.validity import MOST_TICKS
from tests.examples import examples
from tests.memory.oracle import ProtocolTable
from tests.memory.samples import BestEpisodes, Everything, plain_twin
from tests.memory.strategies.test_built_in import ACTIONS, Operation, streams

COMPILED: list[Any] = [Everything(), Everything(share=1.0, period=2, gentle=False), BestEpisodes()]
COMPILED += [get_strategy(name) for name in (*STRATEGIES.built_in, "dkm:decay=0.3")]


def memory_of(strategy: Strategy, capacity: int, dims: int, **options: Any) -> EpisodicMemory:
    return EpisodicMemory(actions=ACTIONS, key_size=dims, capacity=capacity, strategy=strategy, **options)


def assert_kept(memory: EpisodicMemory, tables: list[ProtocolTable]) -> None:
    """The memory holds what the oracle holds; what depends on an estimate or a logarithm, to within rounding."""
    strategy = memory.strategy
    for action, table in enumerate(tables):
        ours = memory.entries(action)
        assert ours["states"].tolist() == [entry.state for entry in table.entries]
        keys = np.array([entry.key for entry in table.entries], np.float32).reshape(ours["keys"].shape)
        np.testing.assert_allclose(ours["keys"], keys, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(ours["values"], [entry.value for entry in table.entries], rtol=1e-6, atol=1e-6)
        theirs = strategy.show(table.arrays(), table.writes, memory.capacity)
        assert set(ours) - {"keys", "values", "states"} == set(theirs)
        for name, column in theirs.items():
            np.testing.assert_allclose(ours[name], column, rtol=1e-12, err_msg=name)
        assert memory.table_numbers(action) == pytest.approx(table.own)


@pytest.mark.parametrize("strategy", COMPILED, ids=repr)
@pytest.mark.parametrize("step", [None, 0.25])
@examples(30)
@given(stream=streams(), neighbours=st.integers(1, 5), seed=st.integers(0, 99))
def test_a_strategy_does_the_same_compiled_in_plain_python_and_by_the_oracle(
    strategy: CompiledStrategy, step: float | None, stream: tuple[int, int, list[Operation]], neighbours: int, seed: int
) -> None:
    dims, capacity, operations = stream
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"neighbours": neighbours, "match": step or "max", "exact_read": step is None}
    memories = [memory_of(each, capacity, dims, **options) for each in (strategy, plain_twin(strategy))]
    tables = [ProtocolTable(strategy, capacity, min(neighbours, capacity), step) for _ in range(ACTIONS)]
    clock = 0
    for operation in operations:
        returns = rng.integers(-3, 4, len(operation.keys)).astype(float)
        for memory in memories:
            if operation.reads:
                memory.read(operation.keys, touch=True)
            else:
                memory.write(operation.action, operation.keys, operation.values, episode_return=returns)
        rows = zip(operation.keys, operation.values, states_of(operation.keys).tolist(), returns.tolist(), strict=True)
        for key, value, state, episode_return in rows:
            clock += strategy.touches or not operation.reads
            if operation.reads:
                for table in tables:
                    table.touch(key, clock)
            else:
                tables[operation.action].write(key, value, state, episode_return, clock)
        for memory in memories:
            assert_kept(memory, tables)
            memory.check_valid()
    for name in ("size", "writes", "clock"):
        np.testing.assert_array_equal(*(memory.state_dict()[name] for memory in memories))


@pytest.mark.parametrize("twin", [False, True], ids=["compiled", "plain"])
@examples(25)
@given(stream=streams())
def test_all_numbers_are_saved_and_restored(twin: bool, stream: tuple[int, int, list[Operation]]) -> None:
    dims, capacity, operations = stream
    strategy = plain_twin(Everything()) if twin else Everything()
    ours = memory_of(strategy, capacity, dims)
    for operation in operations:
        ours.write(operation.action, operation.keys, operation.values, episode_return=1.0)
        theirs = memory_of(strategy, capacity, dims)
        theirs.load_state_dict(ours.state_dict())
        for memory in (ours, theirs):
            memory.read(operation.keys, touch=True)
        for action in range(ACTIONS):
            mine, yours = ours.entries(action), theirs.entries(action)
            assert {name: array.tobytes() for name, array in mine.items()} == {
                name: array.tobytes() for name, array in yours.items()
            }
            assert ours.table_numbers(action) == theirs.table_numbers(action)
        theirs.check_valid()
        ours = theirs


@pytest.mark.parametrize("twin", [False, True], ids=["compiled", "plain"])
@pytest.mark.parametrize("name", ["hits", "score", "seen"])
def test_numbers_that_are_not_finite_are_found(twin: bool, name: str) -> None:
    memory = memory_of(plain_twin(Everything()) if twin else Everything(), 5, 1)
    memory.write(1, [[0.0], [1.0]], [1.0, 2.0], episode_return=0.0)
    memory._store.numbers_of(1)[name][0] = np.nan
    with pytest.raises(InvalidInputError, match=r"in table 1 .* finite"):
        memory.check_valid()
    state = memory.state_dict()
    with pytest.raises(InvalidInputError, match=r"in table 1 .* finite"):
        memory_of(memory.strategy, 5, 1).load_state_dict(state)


class Witness(Strategy):
    """Remembers what it is told, and answers as it is asked to."""

    needs_neighbours = True
    clusters = True

    def __init__(self, answer: Decision) -> None:
        self.answer = answer
        self.told: list[tuple[str, int, Write]] = []
        self.touches_told: list[Touch] = []

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        self.told.append(("when_full", -1, write))
        return self.answer

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        self.told.append(("stored", slot, write))

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        self.told.append(("met_again", slot, write))

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        self.told.append(("blended", slot, write))

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        self.touches_told.append(touch)


def test_met_again_and_blended_are_told_apart_and_a_match_is_told_in_full_tables() -> None:
    witness = Witness(blend(1, 0.5))
    memory = memory_of(witness, 2, 1, neighbours=2)
    memory.write(0, [[0.0], [0.0], [3.0], [3.0], [9.0]], [1.0, 5.0, 2.0, 4.0, 8.0])
    assert [(what, slot) for what, slot, _ in witness.told] == [
        ("stored", 0),
        ("met_again", 0),
        ("stored", 1),
        ("when_full", -1),  # a full table of clusters decides on a state that it holds
        ("blended", 1),
        ("when_full", -1),
        ("blended", 1),
    ]
    assert [write.match for _, _, write in witness.told] == [-1, 0, -1, 1, 1, -1, -1]
    values = [write.entry_value for _, _, write in witness.told]
    np.testing.assert_array_equal(values, [1, 5, 2, np.nan, 3, np.nan, 5.5])
    near = witness.told[-1][2].neighbours
    assert (near.slots.tolist(), near.distances.tolist(), near.values.tolist()) == ([1, 0], [36, 81], [3, 5])


def test_of_two_entries_with_one_state_the_lower_slot_is_the_match_also_after_loading() -> None:
    witness = Witness(replace(2))
    memory = memory_of(witness, 4, 1)
    memory.write(0, [[0.0], [1.0], [2.0], [3.0]], np.zeros(4), states=[10, 11, 12, 13])
    memory.write(0, [[0.0]], [0.0], states=[13])  # now in slots 2 and 3
    witness.answer = replace(0)
    memory.write(0, [[0.0]], [0.0], states=[13])  # and in slot 0
    loaded = memory_of(Witness(discard()), 4, 1)
    loaded.load_state_dict(memory.state_dict())
    for each in (memory, loaded):
        told = each.strategy.told  # type: ignore[attr-defined]
        each.strategy.answer = discard()  # type: ignore[attr-defined]
        each.write(0, [[5.0]], [0.0], states=[13])
        assert told[-1][2].match == 0


def test_a_discarded_state_changes_nothing_but_the_clock_and_the_count_of_writes() -> None:
    memory = memory_of(Witness(discard()), 3, 1)
    memory.write(0, np.arange(3.0)[:, None], np.zeros(3))
    before = memory.state_dict()
    memory.write(0, np.arange(7.0, 9.0)[:, None], np.ones(2))
    after = memory.state_dict()
    changed = {name for name in before if name != "strategy" and (before[name] != after[name]).any()}
    assert changed == {"clock", "writes"}
    assert after["writes"].tolist() == [2, 0]


def test_exact_hits_are_those_at_distance_0() -> None:
    witness = Witness(discard())
    memory = memory_of(witness, 4, 1, neighbours=2)
    memory.write(0, [[0.0], [2.0], [7.0]], [0.0, 1.0, 2.0])
    memory.read([[2.0], [6.0]], touch=True)
    first, empty, second, _ = witness.touches_told
    assert (first.slots.tolist(), first.distances.tolist(), first.clock) == ([1, 0], [0, 4], 4)
    assert (empty.slots.tolist(), empty.clock) == ([], 4)
    assert (second.slots.tolist(), second.distances.tolist(), second.clock) == ([2, 1], [1, 16], 5)
    memory.look_up(np.array([0]), np.array([[7.0]]), touch=True)
    last = witness.touches_told[-1]
    assert (last.slots.tolist(), last.distances.tolist(), last.clock) == ([2, 1], [0, 25], 6)


def test_the_return_of_the_episode_is_one_for_all_or_one_for_each() -> None:
    witness = Witness(discard())
    memory = memory_of(witness, 9, 1)
    memory.write(0, [[0.0], [1.0]], [0.0, 0.0])
    memory.write(0, [[2.0], [3.0]], [0.0, 0.0], episode_return=7)
    memory.write(0, [[4.0], [5.0]], [0.0, 0.0], episode_return=[1.5, -2])
    told = [write.episode_return for _, _, write in witness.told]
    np.testing.assert_array_equal(told, [np.nan, np.nan, 7, 7, 1.5, -2])


@pytest.mark.parametrize("twin", [False, True], ids=["compiled", "plain"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.nan, "must be finite for the strategy .*BestEpisodes, got nan; pass"),
        ([1.0, np.nan], "must be finite for the strategy"),
        (np.inf, "must be finite"),
        ([1.0, 2.0, 3.0], r"a number or have shape \(2,\), got \(3,\)"),
    ],
)
def test_returns_of_episodes_that_cannot_be_used_are_refused(twin: bool, given: Any, message: str) -> None:
    memory = memory_of(plain_twin(BestEpisodes()) if twin else BestEpisodes(), 2, 1)
    with pytest.raises(InvalidInputError, match=f"episode_return .*{message}"):
        memory.write(0, [[0.0], [1.0]], [0.0, 0.0], episode_return=given)
    assert memory.size.tolist() == [0, 0]


@dataclass(frozen=True)
class Shares(CompiledStrategy):
    """Merges every state into the nearest, with the share that it is told."""

    share: float = 0.5

    numbers = ("n", "distance")
    needs_nearest = "full"
    needs_neighbours = "full"
    clusters = True

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return blend(write.nearest, self.share)

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        numbers["n"][slot] = 1

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        near = write.neighbours
        numbers["n"][slot] += write.episode_return
        numbers["distance"][slot] += write.distance + near.distances[0] + near.values[0]


@pytest.mark.slow
def test_a_strategy_of_ones_own_merges_an_episode_as_one_batch() -> None:
    """Two states go to the entry at 0, each told its own distance: 4 + 16, twice, and the value 1 before both."""
    memory = memory_of(Shares(), 3, 1, merging="episode")
    memory.write(0, [[0.0], [100.0], [200.0]], [1.0, 0.0, 0.0], episode_return=0)
    memory.write(0, [[2.0], [4.0]], [3.0, 5.0], episode_return=[7, 9])
    entries = memory.entries(0)
    assert entries["keys"].ravel().tolist() == [1.5, 100, 200]  # halfway to the mean of 2 and 4
    assert entries["values"].tolist() == [2.5, 0, 0]
    assert entries["n"].tolist() == [1 + 7 + 9, 1, 1]
    assert entries["distance"].tolist() == [2 * (4 + 16) + 2 * 1, 0, 0]
    single, state = memory_of(Shares(), 3, 1), memory.state_dict()
    for each in (memory, single):
        each.load_state_dict(state)
        each.write(0, [[3.0]], [1.0], episode_return=2)
    for name, array in memory.entries(0).items():
        np.testing.assert_array_equal(array, single.entries(0)[name])


def test_what_an_optimiser_changes_is_told() -> None:
    for strategy in (Everything(), plain_twin(Everything())):
        memory = memory_of(strategy, 4, 1)
        memory.write(0, [[0.0], [3.0]], [1.0, 2.0], episode_return=0.0)
        memory.adjust([0], [1], [[4.0]], [5.5])
        assert memory.entries(0)["score"].tolist() == [1.0, -5.5]
        memory.check_valid()


@dataclass(frozen=True)
class Spoiling(CompiledStrategy):
    """Sets a number to NaN or infinity at the moment that it is told to."""

    moment: int = 0
    number: int = 0
    value: float = float("nan")

    numbers = ("first", "second")
    table_numbers = ("own",)
    order = "first"

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return blend(0, 0.5) if self.moment == 2 else replace(0)

    def spoil(self, moment: int, slot: int, numbers: Numbers) -> None:
        if moment == self.moment:
            if self.number == 0:
                numbers["first"][slot] = self.value
            elif self.number == 1:
                numbers["second"][slot] = self.value
            else:
                numbers["own"][0] = self.value

    def stored(self, slot: int, write: Write, numbers: Numbers) -> None:
        self.spoil(0, slot, numbers)

    def met_again(self, slot: int, write: Write, numbers: Numbers) -> None:
        self.spoil(1, slot, numbers)

    def blended(self, slot: int, write: Write, numbers: Numbers) -> None:
        self.spoil(2, slot, numbers)

    def touched(self, touch: Touch, numbers: Numbers) -> None:
        self.spoil(3, touch.slots[0], numbers)

    def adjusted(self, slot: int, value: float, numbers: Numbers) -> None:
        self.spoil(4, slot, numbers)


def use(memory: EpisodicMemory) -> None:
    """Let every rule be called."""
    for key in (0.0, 0.0, 1.0, 2.0):
        memory.write(0, [[key]], [key])
    memory.read([[0.0]], touch=True)
    memory.adjust([0], [1], [[4.0]], [5.0])


@pytest.mark.parametrize("twin", [False, True], ids=["compiled", "plain"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("moment", range(5))
def test_a_number_that_is_not_finite_is_refused_where_it_is_set(
    moment: int, number: int, value: float, twin: bool
) -> None:
    strategy = Spoiling(moment, number, value)
    memory = EpisodicMemory(actions=1, key_size=1, capacity=2, strategy=plain_twin(strategy) if twin else strategy)
    with pytest.raises(
        InvalidInputError, match=r"Spoiling.* (NaN or infinity|made (first|second|own) NaN or infinite)"
    ):
        use(memory)
    memory.check_valid()
    memory.load_state_dict(memory.state_dict())


class WithoutNearest(KMeans):
    needs_nearest = False  # type: ignore[assignment]


class WithoutEstimate(MaximiseSurprise):
    needs_estimate = False


class WithoutOrder(LeastRecentlyUsed):
    order = ""


class Disordered(DynamicKMeans):
    numbers = ("rank", "other")  # type: ignore[assignment]
    order = ""


class WithoutNeighbours(Strategy):
    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return self.choose(write)

    def choose(self, write: Write) -> Decision:
        return replace(write.neighbours.slots[0])


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (WithoutNearest(), r"WithoutNearest uses write.nearest, .*; set needs_nearest in the class"),
        (WithoutEstimate(), r"WithoutEstimate uses write.estimate, .*; set needs_estimate in the class"),
        (WithoutOrder(), r"WithoutOrder uses write.lowest, .*; set order in the class"),
        (Disordered(), r"Disordered uses write.lowest, .*; set order in the class"),
        (plain_twin(WithoutNearest()), r"WithoutNearest uses write.nearest"),
        (WithoutNeighbours(), r"WithoutNeighbours uses write.neighbours, .*; set needs_neighbours in the class"),
    ],
    ids=repr,
)
def test_a_rule_that_uses_what_was_not_asked_for_is_refused(strategy: Strategy, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        memory_of(strategy, 3, 1)


@dataclass(frozen=True)
class NearestFirst(LeastRecentlyUsed):
    """LRU that asks for the nearest entry, by a field of its dataclass, and replaces that one."""

    needs_nearest: bool = True  # type: ignore[misc]

    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return replace(write.nearest)


@pytest.mark.parametrize("twin", [False, True], ids=["compiled", "plain"])
def test_needs_and_rules_of_a_subclass_are_its_own(twin: bool) -> None:
    strategy: Strategy = plain_twin(NearestFirst()) if twin else NearestFirst()
    memory = EpisodicMemory(actions=1, key_size=1, capacity=3, strategy=strategy)
    memory.write(0, [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    memory.write(0, [[1.9], [1.95]], [8.0, 9.0])
    assert memory.entries(0)["values"].tolist() == [0, 1, 9]
    memory.check_valid()


@dataclass(frozen=True)
class Quiet(LeastRecentlyUsed):
    touches: bool = True  # type: ignore[misc]


def test_a_need_that_an_instance_has_and_its_class_has_not_is_refused_if_it_is_compiled() -> None:
    message = r"touches must be the same for all instances .* \(True\), got False"
    with pytest.raises(InvalidInputError, match=message):
        memory_of(Quiet(touches=False), 3, 1)


class Changing(LeastRecentlyUsed):
    def when_full(self, write: Write, numbers: Numbers) -> Decision:
        return discard()


def test_a_rule_that_is_exchanged_after_it_was_compiled_is_noticed() -> None:
    def when_full(self: Any, write: Write, numbers: Numbers) -> Decision:
        return replace(1)

    memory = EpisodicMemory(actions=1, key_size=1, capacity=2, strategy=Changing())
    memory.write(0, [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    assert memory.entries(0)["values"].tolist() == [0, 1]
    Changing.when_full = when_full  # type: ignore[method-assign]
    memory = EpisodicMemory(actions=1, key_size=1, capacity=2, strategy=Changing())
    memory.write(0, [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    assert memory.entries(0)["values"].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (lambda v=v: DynamicKMeans(decay=v), "decay must be a number from 0 to")
            for v in (None, "1", True, -1, 1e308)
        ),
        *((lambda v=v: DynamicKMeans(decay=v), "decay must be a number from 0 to") for v in (np.nan, 10**400, 1j)),
        *(
            (lambda v=v: FadingKMeans(lifetime=v), "lifetime must be a number above 1")
            for v in (None, "9", True, 1, 1e10)
        ),
        *(
            (lambda v=v: FadingKMeans(lifetime=v), "lifetime must be a number above 1")
            for v in (np.nan, np.inf, 10**400)
        ),
        *((lambda v=v: Spoiling(moment=v), "Spoiling: moment must be") for v in (None, "1", True, 0.5, 2**63)),
        *((lambda v=v: Spoiling(value=v), "Spoiling: value must be a number") for v in (None, "1", True, 10**400)),
    ],
)
def test_options_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        memory_of(make(), 3, 1)


@pytest.mark.parametrize("decay", [1e6, 1e-6, 0.123457, 999_999.999_999])
def test_ranks_stay_finite_and_whole_at_the_ends_of_what_is_allowed(decay: float) -> None:
    strategy = DynamicKMeans(decay)
    memory = EpisodicMemory(actions=1, key_size=1, capacity=3, strategy=strategy)
    rng = np.random.default_rng(0)
    memory.write(0, rng.standard_normal((500, 1)), rng.standard_normal(500))
    memory.check_valid()
    highest = MOST_ENTRIES * strategy.q * MOST_TICKS + strategy.p * MOST_TICKS
    assert np.isfinite(highest)
