"""Writing and touching with a strategy in plain Python: it is asked and told about one state at a time."""

from typing import Any, NamedTuple, Self

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.read import Reading, find_neighbours, weighted_mean
from engram.memory.strategies.base import Need, Neighbourhood, Numbers, Strategy, Touch, Write
from engram.memory.strategies.decisions import APPEND, BLEND, DISCARD, UPDATE, Decision, is_possible
from engram.memory.strategy_types import Kernel
from engram.memory.tables import Renewal, Tables, clear_numbers, merge, store, update
from engram.typing import Doubles, Floats, Ints, Longs

NAN = float("nan")
find = Kernel(hash_index.find)
NOTHING = Neighbourhood(np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.float32))


class Kernels(NamedTuple):
    """The kernels for tables of one kind: with narrow keys, or with wide ones."""

    find_neighbours: Kernel
    store: Kernel
    merge: Kernel
    update: Kernel
    clear_numbers: Kernel

    @classmethod
    def new(cls) -> Self:
        """Kernels that are compiled for the first tables that they meet."""
        return cls(*(Kernel(each) for each in (find_neighbours, store, merge, update, clear_numbers)))


NARROW, WIDE = Kernels.new(), Kernels.new()


def kernels_for(tables: Tables) -> Kernels:
    """The kernels for tables like these."""
    return NARROW if not tables.sketch else WIDE


def named_numbers(strategy: Strategy, tables: Tables, action: int) -> dict[str, Doubles]:
    """One table's numbers by name, to be written to: [size] for those of entries, [1] for the table's own."""
    size = tables.size[action]
    columns = strategy.column_names()
    numbers = {
        name: tables.columns[action, columns.index(name), :size] if name in columns else tables.ranks[action, :size]
        for name in strategy.numbers
    }
    for i, name in enumerate(strategy.table_numbers):
        numbers[name] = tables.own[action, i : i + 1]
    return numbers


def write_one(
    strategy: Strategy,
    tables: Tables,
    action: int,
    key: Floats,
    value: float,
    state: np.uint64,
    episode_return: float,
    renewal: Renewal,
    reading: Reading,
) -> None:
    """Write one state: update its entry in place, or do what the strategy decides."""
    kernels = kernels_for(tables)
    tables.clock[0] += 1
    match: int = find(tables.buckets[action], tables.states[action], state)
    full = bool(tables.size[action] == tables.values.shape[1])
    updated = match >= 0 and not (strategy.clusters and full)
    write = describe(strategy, tables, action, key, value, episode_return, match, updated, reading)
    kind, place, weight = Decision(UPDATE, match, 1.0)
    if not updated:
        kind, place, weight = checked(strategy, strategy.decide(write, named_numbers(strategy, tables, action)), write)
    tables.written[action, kind] += 1
    if kind == UPDATE:
        kernels.update(tables, action, match, key, value, renewal)
        strategy.met_again(match, *_after(strategy, tables, action, match, write))
    elif kind == BLEND:
        kernels.merge(tables, action, place, key, value, weight)
        strategy.blended(int(place), *_after(strategy, tables, action, int(place), write))
    elif kind != DISCARD:
        slot = write.size if kind == APPEND else int(place)
        kernels.store(tables, action, slot, key, value, state)
        kernels.clear_numbers(tables, action, slot, False, kind == APPEND)
        strategy.stored(slot, *_after(strategy, tables, action, slot, write))
    if full:
        tables.writes[action] += 1


def _after(strategy: Strategy, tables: Tables, action: int, slot: int, write: Write) -> tuple[Write, Numbers]:
    """What a strategy is told after a write: the write with the entry's value, and the table's numbers."""
    told = write._replace(entry_value=float(tables.values[action, slot]))
    return told, named_numbers(strategy, tables, action)


def describe(
    strategy: Strategy,
    tables: Tables,
    action: int,
    key: Floats,
    value: float,
    episode_return: float,
    match: int,
    updated: bool,
    reading: Reading,
) -> Write:
    """What a strategy is told of a state before it is written."""
    values, size = tables.values[action], int(tables.size[action])
    full = size == len(values)
    near = _nearest(tables, action, key, min(_wanted(strategy, full, updated, reading.neighbours), size))
    nearest, distance, nearest_value, estimate = -1, NAN, NAN, NAN
    if len(near.slots) and asks(strategy.needs_nearest, full):
        nearest, distance, nearest_value = int(near.slots[0]), float(near.distances[0]), float(near.values[0])
    if asks(strategy.needs_estimate, full):
        if updated:
            estimate = float(values[match])
        else:
            slots = near.slots.astype(np.int32)
            estimate = float(weighted_mean(values, near.distances, slots, len(slots), reading))
    neighbours: Any = None
    if strategy.needs_neighbours:
        neighbours = near if asks(strategy.needs_neighbours, full) else NOTHING
    lowest = -1
    if strategy.order and size:
        lowest = int(np.argmin(named_numbers(strategy, tables, action)[strategy.order]))
    return Write(
        size,
        len(values),
        int(tables.clock[0]),
        int(tables.writes[action]),
        reading.neighbours,
        reading.exact,
        value,
        episode_return,
        match,
        estimate,
        nearest,
        distance,
        nearest_value,
        neighbours,
        lowest,
        NAN,
    )


def asks(need: Need, full: bool) -> bool:
    """Whether a need is there: always, never, or only when the table is full."""
    return full if need == "full" else bool(need)


def _wanted(strategy: Strategy, full: bool, updated: bool, neighbours: int) -> int:
    """How many of the nearest entries must be found before a write."""
    if asks(strategy.needs_neighbours, full) or (asks(strategy.needs_estimate, full) and not updated):
        return neighbours
    return 1 if asks(strategy.needs_nearest, full) else 0


def _nearest(tables: Tables, action: int, key: Floats, wanted: int) -> Neighbourhood:
    """The nearest entries of one table."""
    if wanted == 0:
        return NOTHING
    slots, distances = np.empty((1, wanted), np.int32), np.empty((1, wanted), np.float32)
    size, capacity = int(tables.size[action]), tables.values.shape[1]
    search = kernels_for(tables).find_neighbours
    found = search(tables.keys, tables.sketch, action, size, capacity, key[None], distances, slots)
    if found < wanted:
        raise InvalidInputError(f"the search found {found} entries of {size}; memory.check_valid() says what is wrong")
    return Neighbourhood(slots[0].astype(np.int64), distances[0], tables.values[action][slots[0]])


def checked(strategy: Strategy, decision: Any, write: Write) -> Decision:
    """What a strategy decided, if it can be carried out."""
    if isinstance(decision, Decision) and all(checks.is_number(number) for number in decision):
        kind, slot, weight = decision
        if isinstance(slot, int | np.integer) and is_possible(decision, write.size, write.capacity, write.match):
            return Decision(int(kind), int(slot), float(weight))
    raise InvalidInputError(
        f"{strategy.name}.decide must answer append() while there is room, replace(slot) or blend(slot, weight) "
        f"with a slot from 0 to {write.size - 1} and a weight from 0 to 1, update() for a state that is stored, or "
        f"discard(), got {checks.shown(decision)}"
    )


def touch_rows(
    strategy: Strategy, tables: Tables, actions: Longs, slots: Ints, distances: Floats, found: Longs, rows: int
) -> None:
    """Tell a strategy of entries that were looked up; each query has `rows` rows and is one tick of the clock."""
    for r, action in enumerate(actions.tolist()):
        if r % rows == 0:
            tables.clock[0] += 1
        count = found[r]
        touch = Touch(slots[r, :count].astype(np.int64), distances[r, :count], int(tables.clock[0]))
        strategy.touched(touch, named_numbers(strategy, tables, action))
