"""Writing: states in order of time, one at a time, each as the strategy decides."""

import numpy as np

from engram.compiling import compiled
from engram.memory import index, order
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
    ranks = tables.ranks[table]
    size = tables.size[table]
    nearest = np.int64(-1)
    distance = NOT_A_NUMBER
    nearest_value = NOT_A_NUMBER
    nearest_rank = NOT_A_NUMBER
    estimate: float = NOT_A_NUMBER
    if needs_estimate and match >= 0:
        estimate = np.float64(values[match])
    if needs_nearest or (needs_estimate and match < 0):
        wanted = reading.neighbours if needs_estimate else 1
        distances = np.empty(wanted, np.float32)
        slots = np.empty(wanted, np.int32)
        found = search_table(tables.keys, tables.codes, tables.axes, table, size, len(values), key, distances, slots)
        if needs_estimate and match < 0:
            estimate = weighted_mean(values, distances, slots, found, reading)
        if needs_nearest and found > 0:
            nearest = np.int64(slots[0])
            distance = np.float64(distances[0])
            nearest_value = np.float64(values[nearest])
            nearest_rank = ranks[nearest]
    lowest = np.int64(-1)
    lowest_rank = NOT_A_NUMBER
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
        nearest,
        distance,
        nearest_value,
        nearest_rank,
        lowest,
        lowest_rank,
    )


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
    capacity = tables.values.shape[1]
    buckets, heap, place = tables.buckets[table], tables.heap[table], tables.place[table]
    ranks = tables.ranks[table]
    for t in range(len(keys)):
        tables.clock[0] += 1
        key, value, state = keys[t], np.float64(values[t]), states[t]
        full = tables.size[table] == capacity
        match = index.find(buckets, tables.states[table], state)
        if full and rules.clusters:
            match = np.int64(index.EMPTY)
        needs_nearest = rules.needs_nearest and full
        write = look(tables, table, key, value, match, needs_nearest, rules.needs_estimate, rules.ordered, reading)
        if match >= 0:
            slot = match
            update(tables, table, slot, key, value, step)
            ranks[slot] = rank_renewed(rules, ranks[slot], np.float64(tables.values[table, slot]), write)
        elif not full:
            slot = np.int64(write.size)
            store(tables, table, slot, key, value, state)
            ranks[slot] = rank_stored(rules, write)
            heap[slot] = place[slot] = slot
        else:
            decision = when_full(rules, write)
            slot = np.int64(decision.slot)
            if decision.kind == BLEND:
                merge(tables, table, slot, key, value, decision.weight)
                ranks[slot] = rank_renewed(rules, ranks[slot], np.float64(tables.values[table, slot]), write)
            else:
                store(tables, table, slot, key, value, state)
                ranks[slot] = rank_stored(rules, write)
        if rules.ordered:
            order.restore(heap, place, ranks, tables.size[table], slot)
        if full:
            tables.writes[table] += 1
