"""Writing: states in order of time, one at a time, each as the strategy decides."""

import numpy as np

from engram.compiling import compiled
from engram.memory import index, order
from engram.memory.read import weighted_mean
from engram.memory.search import search_table
from engram.memory.strategies import rules
from engram.memory.strategies.base import BLEND, Write
from engram.memory.tables import Tables, merge, store, update
from engram.typing import Floats, States

NOT_A_NUMBER = np.float64(np.nan)


@compiled
def look(
    tables: Tables,
    table: int,
    key: Floats,
    value: float,
    match: int,
    needs_nearest: bool,
    needs_estimate: bool,
    neighbours: int,
    delta: float,
    inverse: bool,
    exact: bool,
) -> Write:
    """What the strategy may know of a state before it is written."""
    values = tables.values[table]
    ranks = tables.ranks[table]
    size = tables.size[table]
    nearest = -1
    distance = NOT_A_NUMBER
    nearest_value = NOT_A_NUMBER
    nearest_rank = NOT_A_NUMBER
    estimate = NOT_A_NUMBER
    if needs_estimate and match >= 0:
        estimate = np.float64(values[match])
    if needs_nearest or (needs_estimate and match < 0):
        wanted = neighbours if needs_estimate else 1
        distances = np.empty(wanted, np.float32)
        slots = np.empty(wanted, np.int32)
        found = search_table(tables.keys, table, size, len(values), key, distances, slots)
        if needs_estimate and match < 0:
            estimate = weighted_mean(values, distances, slots, found, delta, inverse, exact)
        if needs_nearest and found > 0:
            nearest = np.int64(slots[0])
            distance = np.float64(distances[0])
            nearest_value = np.float64(values[nearest])
            nearest_rank = ranks[nearest]
    lowest = np.int64(tables.heap[table, 0])
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
        ranks[lowest],
    )


@compiled
def write_built_in(
    tables: Tables,
    table: int,
    keys: Floats,  # [T, dims]
    values: Floats,  # [T]
    states: States,  # [T]
    code: int,
    settings: tuple[float, float],
    needs_nearest: bool,
    needs_estimate: bool,
    clusters: bool,
    ordered: bool,
    step: float,
    neighbours: int,
    delta: float,
    inverse: bool,
    exact: bool,
) -> None:
    """Write all states of an episode in which one action was taken, by the rules of a built-in strategy."""
    capacity = tables.values.shape[1]
    buckets, heap, place = tables.buckets[table], tables.heap[table], tables.place[table]
    ranks = tables.ranks[table]
    for t in range(len(keys)):
        tables.clock[0] += 1
        key, value, state = keys[t], np.float64(values[t]), states[t]
        full = tables.size[table] == capacity
        match = np.int64(index.find(buckets, tables.states[table], state))
        if full and clusters:
            match = np.int64(-1)
        write = look(
            tables,
            table,
            key,
            value,
            match,
            needs_nearest and full,
            needs_estimate,
            neighbours,
            delta,
            inverse,
            exact,
        )
        if match >= 0:
            slot = match
            update(tables, table, slot, key, value, step)
            ranks[slot] = rules.renewed(
                code, ranks[slot], np.float64(tables.values[table, slot]), write, settings
            )
        elif not full:
            slot = write.size
            store(tables, table, slot, key, value, state)
            ranks[slot] = rules.stored(code, write, settings)
            heap[slot] = place[slot] = slot
        else:
            decision = rules.when_full(code, write, settings)
            slot = decision.slot
            if decision.kind == BLEND:
                merge(tables, table, slot, key, value, decision.weight)
                ranks[slot] = rules.renewed(
                    code, ranks[slot], np.float64(tables.values[table, slot]), write, settings
                )
            else:
                store(tables, table, slot, key, value, state)
                ranks[slot] = rules.stored(code, write, settings)
        if ordered:
            order.restore(heap, place, ranks, tables.size[table], slot)
        if full:
            tables.writes[table] += 1
