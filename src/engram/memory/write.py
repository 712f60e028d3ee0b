"""Writing: states in order of time, one at a time, each as the strategy decides."""

import numpy as np

from engram.compiling import compiled
from engram.memory import hash_index
from engram.memory.heap import sift
from engram.memory.read import Reading, weighted_mean
from engram.memory.search import search_table
from engram.memory.strategies.base import BLEND, Write
from engram.memory.strategies.rules import Rules, rank_renewed, rank_stored, when_full
from engram.memory.tables import Tables, merge, store, update
from engram.typing import Floats, States, Whole

NOT_A_NUMBER = np.float64(np.nan)


@compiled
def look(
    tables: Tables,
    table: int,
    key: Floats,
    value: float,
    match: Whole,
    needs_nearest: bool,
    needs_estimate: bool,
    ranked: bool,
    reading: Reading,
) -> Write:
    """What the strategy may know of a state before it is written."""
    values = tables.values[table]
    nearest = np.int64(-1)
    distance = NOT_A_NUMBER
    estimate: float = NOT_A_NUMBER
    if needs_estimate and match >= 0:
        estimate = np.float64(values[match])
    if needs_nearest or (needs_estimate and match < 0):
        wanted = reading.neighbours if needs_estimate else 1
        distances = np.empty(wanted, np.float32)
        slots = np.empty(wanted, np.int32)
        found = search_table(
            tables.keys, (tables.codes, tables.axes), table, tables.size[table], len(values), key, distances, slots
        )
        if needs_estimate and match < 0:
            estimate = weighted_mean(values, distances, slots, found, reading)
        if needs_nearest and found > 0:
            nearest = np.int64(slots[0])
            distance = np.float64(distances[0])
    return known(tables, table, value, estimate, nearest, distance, ranked)


@compiled
def known(
    tables: Tables, table: int, value: float, estimate: float, nearest: Whole, distance: float, ranked: bool
) -> Write:
    """What the strategy may know, once the search is done."""
    values, ranks, size = tables.values[table], tables.ranks[table], tables.size[table]
    nearest_value = nearest_rank = lowest_rank = NOT_A_NUMBER
    if nearest >= 0:
        nearest_value, nearest_rank = np.float64(values[nearest]), ranks[nearest]
    lowest = np.int64(-1)
    if ranked and size > 0:
        lowest = np.int64(tables.heap[table, 0])
        lowest_rank = ranks[lowest]
    return Write(
        size,
        len(values),
        tables.clock[0],
        tables.writes[table],
        value,
        estimate,
        np.int64(nearest),
        distance,
        nearest_value,
        nearest_rank,
        lowest,
        lowest_rank,
    )


@compiled
def find_match(tables: Tables, table: int, state: np.uint64, rules: Rules) -> np.int64:
    """The slot of a state met before, which is to be updated in place, or EMPTY."""
    if rules.clusters and tables.size[table] == tables.values.shape[1]:
        return np.int64(hash_index.EMPTY)
    return hash_index.find(tables.buckets[table], tables.states[table], state)


@compiled
def settle(
    tables: Tables,
    table: int,
    key: Floats,
    value: float,
    state: np.uint64,
    match: Whole,
    write: Write,
    rules: Rules,
    step: float,
) -> tuple[Whole, float]:
    """Do what becomes of one state; return the slot that it went to, and the weight with which its key did."""
    ranks, heap, place = tables.ranks[table], tables.heap[table], tables.place[table]
    full = write.size == write.capacity
    slot, weight = np.int64(match), 1.0
    if match >= 0:
        update(tables, table, slot, key, value, step)
        ranks[slot] = rank_renewed(rules, ranks[slot], np.float64(tables.values[table, slot]), write)
        weight = 1.0 if step > 0 else 0.0
    elif not full:
        slot = np.int64(write.size)
        store(tables, table, slot, key, value, state)
        ranks[slot] = rank_stored(rules, write)
        heap[slot] = place[slot] = slot
    else:
        decision = when_full(rules, write)
        slot, weight = np.int64(decision.slot), decision.weight
        if decision.kind == BLEND:
            merge(tables, table, slot, key, value, weight)
            ranks[slot] = rank_renewed(rules, ranks[slot], np.float64(tables.values[table, slot]), write)
        else:
            store(tables, table, slot, key, value, state)
            ranks[slot] = rank_stored(rules, write)
    if rules.ordered:
        sift(heap, place, ranks, tables.size[table], slot)
    if full:
        tables.writes[table] += 1
    return slot, weight


@compiled
def write_built_in(
    tables: Tables,
    table: int,
    keys: Floats,  # [T, dims]
    values: Floats,  # [T]
    states: States,  # [T]
    rules: Rules,
    step: float,
    reading: Reading,
) -> None:
    """Write all states of an episode in which one action was taken, by the rules of a built-in strategy."""
    for t in range(len(keys)):
        tables.clock[0] += 1
        key, value, state = keys[t], np.float64(values[t]), states[t]
        match = find_match(tables, table, state, rules)
        needs_nearest = rules.needs_nearest and tables.size[table] == tables.values.shape[1]
        write = look(tables, table, key, value, match, needs_nearest, rules.needs_estimate, rules.ordered, reading)
        settle(tables, table, key, value, state, match, write, rules, step)
