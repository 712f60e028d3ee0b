"""What a compiled strategy is told of a state that is written."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.extending import overload

from engram.memory import hash_index
from engram.memory.heap import lowest_of
from engram.memory.read import Reading, weighted_mean
from engram.memory.search import prepare, search_room, search_table
from engram.memory.strategies.base import Neighbourhood, Numbers, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import RefusedError
from engram.memory.strategy_numbers import pack_numbers
from engram.memory.strategy_types import StrategyType, class_of
from engram.memory.tables import Tables
from engram.typing import Floats, Ints, Whole

F = TypeVar("F", bound=Callable[..., Any])
NOT_A_NUMBER = np.float64(np.nan)


def inlined(function: F) -> F:
    """Copy a function into every kernel that calls it, which takes less time to compile than a kernel of its own."""
    return cast(F, numba.njit(inline="always")(function))


@inlined
def numbers_of(strategy: CompiledStrategy, tables: Tables, table: int) -> Numbers:
    """A table's numbers, as the strategy's rules see them."""
    numbers: Numbers = pack_numbers(
        strategy,
        tables.ranks[table],
        tables.heap[table],
        tables.known[table],
        tables.place[table],
        tables.columns[table],
        tables.own[table],
        tables.size[table],
    )
    return numbers


def is_ordered(strategy: CompiledStrategy) -> bool:
    """Whether a strategy orders its entries, which are then kept in a heap."""
    return bool(strategy.order)


@overload(is_ordered, strict=False)
def _is_ordered(strategy: StrategyType) -> Any:
    ordered = bool(class_of(strategy).order)
    return lambda strategy: ordered


@inlined
def find_match(tables: Tables, table: int, state: np.uint64) -> np.int64:
    """The lowest slot in which a state is stored, or EMPTY."""
    return hash_index.find(tables.buckets[table], tables.states[table], state)


@inlined
def is_full(tables: Tables, table: int) -> bool:
    """Whether a table has no free slot."""
    return bool(tables.size[table] == tables.values.shape[1])


@inlined
def is_updated(strategy: CompiledStrategy, tables: Tables, table: int, match: Whole) -> bool:
    """Whether a state that is stored in slot `match` (−1: nowhere) is updated in place."""
    return bool(match >= 0 and not (strategy.clusters and is_full(tables, table)))


@inlined
def asks(need: Any, full: bool) -> bool:
    """Whether a need (0 never, 1 when full, 2 always) is there."""
    return bool(need == 2 or (need == 1 and full))


@inlined
def count_wanted(strategy: CompiledStrategy, updated: bool, full: bool, neighbours: int) -> int:
    """How many of the nearest entries must be found before a write."""
    if asks(strategy.needs_neighbours, full) or (asks(strategy.needs_estimate, full) and not updated):
        return neighbours
    return 1 if asks(strategy.needs_nearest, full) else 0


def find_nearest(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    key: Floats,
    wanted: int,
    slots: Ints,  # [k], out
    distances: Floats,  # [k], out
) -> int:
    """Find the nearest entries, if any are wanted; return how many there are."""
    raise NotImplementedError("called in kernels only")


@overload(find_nearest, strict=False)
def _find_nearest(
    strategy: StrategyType, tables: Any, table: Any, key: Any, wanted: Any, slots: Any, distances: Any
) -> Any:
    """The search, which takes a second to compile, is left out for strategies that never need it."""
    cls = class_of(strategy)
    if not (cls.needs_nearest or cls.needs_neighbours or cls.needs_estimate):
        return lambda strategy, tables, table, key, wanted, slots, distances: 0

    def search(strategy: Any, tables: Any, table: Any, key: Any, wanted: Any, slots: Any, distances: Any) -> int:
        if wanted == 0:
            return 0
        sketch, size = tables.sketch, tables.size[table]
        capacity = tables.values.shape[1]
        room = search_room(len(key))
        prepare(sketch, key, room)
        found = search_table(tables.keys, sketch, table, size, capacity, key, room, distances[:wanted], slots[:wanted])
        if found < min(wanted, size):
            raise RefusedError("the search found fewer entries than there are; memory.check_valid() says what is wrong")
        return found

    return search


def neighbourhood(strategy: CompiledStrategy, full: bool, values: Floats, slots: Ints, distances: Floats) -> Any:
    """What a strategy is told of the nearest entries; None for one that never asks."""
    raise NotImplementedError("called in kernels only")


@overload(neighbourhood, strict=False)
def _neighbourhood(strategy: StrategyType, full: Any, values: Any, slots: Any, distances: Any) -> Any:
    if not class_of(strategy).needs_neighbours:
        return lambda strategy, full, values, slots, distances: None

    def gather(strategy: Any, full: Any, values: Any, slots: Any, distances: Any) -> Neighbourhood:
        count = len(slots) if asks(strategy.needs_neighbours, full) else 0
        return Neighbourhood(slots[:count].astype(np.int64), distances[:count].copy(), values[slots[:count]])

    return gather


@inlined
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
    nearest, distance, nearest_value = np.int64(-1), NOT_A_NUMBER, NOT_A_NUMBER
    estimate: float = NOT_A_NUMBER
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
        heap, known = tables.heap[table], tables.known[table]
        lowest = np.int64(lowest_of(heap, tables.place[table], known, tables.ranks[table], tables.size[table]))
    return Write(
        tables.size[table],
        len(values),
        tables.clock[0],
        tables.writes[table],
        reading.neighbours,
        reading.exact,
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


@inlined
def with_entry_value(write: Write, value: float) -> Write:
    """A write with the value that the entry has after it."""
    return Write(
        write.size,
        write.capacity,
        write.clock,
        write.writes,
        write.averaged,
        write.exact,
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
