"""Writing with a compiled strategy: states in order of time, one at a time."""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.read import Reading, weighted_mean
from engram.memory.search import search_table
from engram.memory.strategies.base import Neighbourhood, Numbers, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import APPEND, BLEND, DISCARD, Decision, can_be_done
from engram.memory.strategy_numbers import pack_numbers
from engram.memory.strategy_types import StrategyType, class_of
from engram.memory.tables import Tables, clear_numbers, merge, store, update
from engram.typing import Doubles, Floats, Ints, States, Whole

NOT_A_NUMBER = np.float64(np.nan)
REFUSED = (
    "a strategy must decide append() while there is room, replace(slot) or blend(slot, weight) with the slot of an entry "
    "and a weight from 0 to 1, or discard()"
)


class Placed(NamedTuple):
    """Where a state went, and the weight of its key there: 1 for a new key, 0 for one that changed nothing."""

    slot: Whole  # −1: nowhere
    weight: float


@compiled
def numbers_of(strategy: CompiledStrategy, tables: Tables, table: int) -> Numbers:
    """A table's numbers, as the strategy's rules see them."""
    return pack_numbers(
        strategy,
        tables.ranks[table, : tables.size[table]],
        tables.heap[table],
        tables.place[table],
        tables.columns[table],
        tables.own[table],
    )


def is_ordered(strategy: CompiledStrategy) -> bool:
    """Whether a strategy orders its entries, which are then kept in a heap."""
    return bool(strategy.order)


@overload(is_ordered, strict=False)  # type: ignore[untyped-decorator]
def _is_ordered(strategy: StrategyType) -> Any:
    ordered = bool(class_of(strategy).order)
    return lambda strategy: ordered


def neighbourhood(
    strategy: CompiledStrategy, full: bool, values: Floats, slots: Ints, distances: Floats
) -> Neighbourhood | None:
    """What a strategy is told of the nearest entries; None for one that never asks."""
    raise NotImplementedError("called in kernels only")


@overload(neighbourhood, strict=False)  # type: ignore[untyped-decorator]
def _neighbourhood(strategy: StrategyType, full: Any, values: Any, slots: Any, distances: Any) -> Any:
    if not class_of(strategy).needs_neighbours:
        return lambda strategy, full, values, slots, distances: None

    def gather(strategy: Any, full: Any, values: Any, slots: Any, distances: Any) -> Neighbourhood:
        count = len(slots) if asks(strategy.needs_neighbours, full) else 0
        return Neighbourhood(slots[:count].astype(np.int64), distances[:count].copy(), values[slots[:count]])

    return gather


@compiled
def find_match(strategy: CompiledStrategy, tables: Tables, table: int, state: np.uint64) -> np.int64:
    """The slot in which a state is stored, or EMPTY."""
    if strategy.clusters:
        return hash_index.find_lowest(tables.buckets[table], tables.states[table], state)
    return hash_index.find(tables.buckets[table], tables.states[table], state)


@compiled
def is_full(tables: Tables, table: int) -> bool:
    """Whether a table has no free slot."""
    return bool(tables.size[table] == tables.values.shape[1])


@compiled
def is_updated(strategy: CompiledStrategy, tables: Tables, table: int, match: Whole) -> bool:
    """Whether a state that is stored in slot `match` (−1: nowhere) is updated in place."""
    return match >= 0 and not (strategy.clusters and is_full(tables, table))


@compiled
def asks(need: int, full: bool) -> bool:
    """Whether a need (0 never, 1 when full, 2 always) is there."""
    return need == 2 or (need == 1 and full)


@compiled
def count_wanted(strategy: CompiledStrategy, updated: bool, full: bool, neighbours: int) -> int:
    """How many of the nearest entries must be found before a write."""
    if asks(strategy.needs_neighbours, full) or (asks(strategy.needs_estimate, full) and not updated):
        return neighbours
    return 1 if asks(strategy.needs_nearest, full) else 0


@compiled
def describe(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    value: float,
    episode_return: float,
    match: Whole,
    updated: bool,
    slots: Ints,  # [found], nearest first
    distances: Floats,  # [found]
    reading: Reading,
) -> Write:
    """What the strategy is told of a state before it is written, once the nearest entries are found."""
    values, full = tables.values[table], is_full(tables, table)
    nearest, distance, nearest_value, estimate = np.int64(-1), NOT_A_NUMBER, NOT_A_NUMBER, NOT_A_NUMBER
    if asks(strategy.needs_nearest, full) and len(slots) > 0:
        nearest, distance = np.int64(slots[0]), np.float64(distances[0])
        nearest_value = np.float64(values[nearest])
    if asks(strategy.needs_estimate, full):
        if updated:
            estimate = np.float64(values[match])
        else:
            estimate = weighted_mean(values, distances, slots, len(slots), reading)
    lowest = np.int64(-1)
    if is_ordered(strategy) and tables.size[table] > 0:
        lowest = np.int64(tables.heap[table, 0])
    return Write(
        tables.size[table],
        len(values),
        tables.clock[0],
        tables.writes[table],
        value,
        episode_return,
        np.int64(match),
        estimate,
        nearest,
        distance,
        nearest_value,
        neighbourhood(strategy, full, values, slots, distances),
        lowest,
        NOT_A_NUMBER,
    )


@compiled
def with_entry_value(write: Write, value: float) -> Write:
    """A write with the value that the entry has after it."""
    return Write(
        write.size,
        write.capacity,
        write.clock,
        write.writes,
        write.value,
        write.episode_return,
        write.match,
        write.estimate,
        write.nearest,
        write.distance,
        write.nearest_value,
        write.neighbours,
        write.lowest,
        value,
    )


@compiled
def decided(strategy: CompiledStrategy, tables: Tables, table: int, write: Write) -> Decision:
    """The strategy's decision about one state, if it can be carried out."""
    decision = strategy.decide(write, numbers_of(strategy, tables, table))
    if not can_be_done(decision, write.size, write.capacity):
        raise InvalidInputError(REFUSED)
    return decision


@compiled
def store_new(
    strategy: CompiledStrategy, tables: Tables, table: int, slot: Whole, key: Floats, state: np.uint64, write: Write
) -> None:
    """Store a state in a slot and tell the strategy."""
    appended = slot == tables.size[table]
    store(tables, table, slot, key, write.value, state)
    clear_numbers(tables, table, slot, is_ordered(strategy), appended)
    told = with_entry_value(write, np.float64(tables.values[table, slot]))
    strategy.stored(slot, told, numbers_of(strategy, tables, table))


@compiled
def place(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    key: Floats,
    state: np.uint64,
    write: Write,
    updated: bool,
    step: float,
) -> Placed:
    """Write one state: update its entry in place, or do what the strategy decides."""
    slot, weight = np.int64(write.match), 1.0
    if updated:
        update(tables, table, slot, key, write.value, step)
        told = with_entry_value(write, np.float64(tables.values[table, slot]))
        strategy.met_again(slot, told, numbers_of(strategy, tables, table))
        weight = 1.0 if step > 0 else 0.0
    else:
        decision = decided(strategy, tables, table, write)
        slot, weight = np.int64(decision.slot), decision.weight
        if decision.kind == BLEND:
            merge(tables, table, slot, key, write.value, weight)
            told = with_entry_value(write, np.float64(tables.values[table, slot]))
            strategy.blended(slot, told, numbers_of(strategy, tables, table))
        elif decision.kind != DISCARD:
            if decision.kind == APPEND:
                slot = np.int64(write.size)
            store_new(strategy, tables, table, slot, key, state, write)
    if write.size == write.capacity:
        tables.writes[table] += 1
    return Placed(slot, weight)


@compiled
def write_states(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    keys: Floats,  # [T, dims]
    values: Floats,  # [T]
    states: States,  # [T]
    episode_returns: Doubles,  # [T], or [1] for all
    step: float,
    reading: Reading,
) -> None:
    """Write states to one table, in order of time."""
    distances = np.empty(reading.neighbours, np.float32)
    slots = np.empty(reading.neighbours, np.int32)
    sketch = (tables.codes, tables.axes)
    for t in range(len(keys)):
        tables.clock[0] += 1
        match, full = find_match(strategy, tables, table, states[t]), is_full(tables, table)
        updated = is_updated(strategy, tables, table, match)
        wanted = count_wanted(strategy, updated, full, reading.neighbours)
        found = 0
        if wanted > 0:
            found = search_table(
                tables.keys,
                sketch,
                table,
                tables.size[table],
                tables.values.shape[1],
                keys[t],
                distances[:wanted],
                slots[:wanted],
            )
        write = describe(
            strategy,
            tables,
            table,
            np.float64(values[t]),
            episode_returns[min(t, len(episode_returns) - 1)],
            match,
            updated,
            slots[:found],
            distances[:found],
            reading,
        )
        place(strategy, tables, table, keys[t], states[t], write, updated, step)
