"""Writing with a compiled strategy: states in order of time, one at a time."""

from typing import Any, NamedTuple

import numpy as np

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.memory.description import (
    count_wanted,
    describe,
    find_match,
    find_nearest,
    inlined,
    is_full,
    is_ordered,
    is_updated,
    numbers_of,
    with_entry_value,
)
from engram.memory.read import Reading
from engram.memory.strategies.base import Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import APPEND, BLEND, DISCARD, UPDATE, Decision, RefusedError, can_be_done
from engram.memory.strategies.decisions import update as update_entry
from engram.memory.tables import Renewal, Tables, clear_numbers, merge, store, update
from engram.typing import Doubles, Floats, States, Whole


class Placed(NamedTuple):
    """Where a state went, and the weight of its key there: 1 for a new key, 0 for one that changed nothing."""

    slot: Whole  # −1: nowhere
    weight: float


@inlined
def decided(strategy: CompiledStrategy, tables: Tables, table: int, write: Write, updated: bool) -> Decision:
    """What is done with a state: its entry is updated in place, or what the strategy decides, if that is possible."""
    if updated:
        return update_entry()
    decision = strategy.decide(write, numbers_of(strategy, tables, table))
    if not can_be_done(decision, write.size, write.capacity, write.match):
        raise RefusedError(
            "decide must answer append() while there is room, replace(slot) or blend(slot, weight) with the slot of an "
            "entry and a weight from 0 to 1, update() for a state that is stored, or discard()"
        )
    return decision


@inlined
def store_new(
    strategy: CompiledStrategy, tables: Tables, table: int, slot: Any, key: Floats, state: np.uint64, write: Write
) -> None:
    """Store a state in a slot and tell the strategy."""
    appended = slot == tables.size[table]
    store(tables, table, slot, key, write.value, state)
    clear_numbers(tables, table, slot, is_ordered(strategy), appended)
    told = with_entry_value(write, np.float64(tables.values[table, slot]))
    strategy.stored(slot, told, numbers_of(strategy, tables, table))


@inlined
def meet_again(
    strategy: CompiledStrategy, tables: Tables, table: int, key: Floats, write: Write, renewal: Renewal
) -> None:
    """Update the entry of a state that is stored already, and tell the strategy."""
    slot: Any = np.int64(write.match)
    update(tables, table, slot, key, write.value, renewal)
    told = with_entry_value(write, np.float64(tables.values[table, slot]))
    strategy.met_again(slot, told, numbers_of(strategy, tables, table))


@inlined
def place(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    key: Floats,
    state: np.uint64,
    write: Write,
    updated: bool,
    renewal: Renewal,
) -> Placed:
    """Write one state: update its entry in place, or do what the strategy decides."""
    decision = decided(strategy, tables, table, write, updated)
    tables.written[table, decision.kind] += 1
    slot: Any = np.int64(decision.slot)
    weight = decision.weight
    if decision.kind == UPDATE:
        meet_again(strategy, tables, table, key, write, renewal)
        slot, weight = np.int64(write.match), 1.0 if renewal.newer_key else 0.0
    elif decision.kind == BLEND:
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
    renewal: Renewal,
    reading: Reading,
) -> None:
    """Write states to one table, in order of time."""
    tables, keys, values, states = borrowed(tables), borrowed(keys), borrowed(values), borrowed(states)
    distances = np.empty(reading.neighbours, np.float32)
    slots = np.empty(reading.neighbours, np.int32)
    for t in range(len(keys)):
        tables.clock[0] += 1
        match = find_match(tables, table, states[t])
        updated = is_updated(strategy, tables, table, match)
        wanted = count_wanted(strategy, updated, is_full(tables, table), reading.neighbours)
        found = find_nearest(strategy, tables, table, keys[t], wanted, slots, distances)
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
        place(strategy, tables, table, keys[t], states[t], write, updated, renewal)
