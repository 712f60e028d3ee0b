"""Writing an episode's states as batches: where each goes is decided before any is merged."""

import numpy as np

from engram import checks
from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory.description import (
    count_wanted,
    describe,
    find_match,
    find_nearest,
    is_full,
    is_updated,
    numbers_of,
    with_entry_value,
)
from engram.memory.read import Reading
from engram.memory.strategies import STRATEGIES, CompiledStrategy, Strategy
from engram.memory.strategies.decisions import APPEND, BLEND, REPLACE, UPDATE
from engram.memory.tables import Renewal, Tables, merge
from engram.memory.write import decided, meet_again, store_new
from engram.typing import Doubles, Floats, Longs, States


def can_merge_episodes(strategy: Strategy) -> bool:
    """Whether a strategy merges states and is compiled, so that it can write an episode as one batch."""
    return isinstance(strategy, CompiledStrategy) and strategy.clusters


def check_merging(merging: str, strategy: Strategy) -> str:
    """The way of merging, if it is a known one that the strategy can do."""
    checks.one_of("merging", merging, ("single", "episode"))
    if merging == "episode" and not can_merge_episodes(strategy):
        names = ", ".join(name for name in STRATEGIES.built_in if STRATEGIES.built_in[name].clusters)
        raise InvalidInputError(
            f'merging="episode" needs a compiled strategy that merges ({names}), got {strategy.name!r}; '
            'choose one of these, or leave merging at "single"'
        )
    return merging


@compiled
def mean_key(keys: Floats, members: Longs) -> Floats:
    """The mean of some keys, summed in double precision in order of time."""
    mean = np.empty(keys.shape[1], np.float32)
    for dim in range(len(mean)):
        total = 0.0
        for t in members:
            total += np.float64(keys[t, dim])
        mean[dim] = total / len(members)
    return mean


@compiled
def mean_value(values: Floats, members: Longs) -> float:
    """The mean of some returns."""
    total = 0.0
    for t in members:
        total += np.float64(values[t])
    return total / len(members)


@compiled
def write_batch(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    keys: Floats,  # [m, dims]
    values: Floats,  # [m]
    states: States,  # [m]
    episode_returns: Doubles,  # [m], or [1] for all
    renewal: Renewal,
    reading: Reading,
) -> None:
    """Write states as one batch: those that find a slot are stored, the others are merged.

    The entries nearest to each are found before anything is written. Then all decisions are taken, in order of time;
    a state that is stored, in a free slot or in that of another entry, is there at once. At last each entry merges the
    mean of the states that go to it, though another may be in its slot by then:

        c ← (n c + s̄)/(n + 1)      Q ← (n Q + R̄)/(n + 1)      n ← n + their number

    The number of writes, by which counts fall, is raised by m at the end, and only if there was not a slot for each. So
    no entry expires on the way, and the weights are those of the n before the batch.
    """
    tables, keys = borrowed(tables), borrowed(keys)
    fills_up = tables.size[table] + len(keys) > tables.values.shape[1]
    wanted = count_wanted(strategy, False, fills_up, reading.neighbours)
    slots = np.empty((len(keys), wanted), np.int32)
    distances = np.empty((len(keys), wanted), np.float32)
    found = np.empty(len(keys), np.int64)
    for t in range(len(keys)):
        found[t] = find_nearest(strategy, tables, table, keys[t], wanted, slots[t], distances[t])
    into = np.full(len(keys), -1, np.int64)
    weights = np.empty(len(keys), np.float64)
    without_slot = 0
    writes = []
    for t in range(len(keys)):
        tables.clock[0] += 1
        match = find_match(tables, table, states[t])
        updated = is_updated(strategy, tables, table, match)
        write = describe(
            strategy,
            tables,
            table,
            np.float64(values[t]),
            episode_returns[min(t, len(episode_returns) - 1)],
            match,
            updated,
            slots[t, : found[t]],
            distances[t, : found[t]],
            reading,
        )
        writes.append(write)
        decision = decided(strategy, tables, table, write, updated)
        tables.written[table, decision.kind] += 1
        if decision.kind in (APPEND, REPLACE):
            slot = tables.size[table] if decision.kind == APPEND else np.int64(decision.slot)
            store_new(strategy, tables, table, slot, keys[t], states[t], write)
            continue
        without_slot += is_full(tables, table)
        if decision.kind == UPDATE:
            meet_again(strategy, tables, table, keys[t], write, renewal)
        elif decision.kind == BLEND:
            into[t], weights[t] = decision.slot, decision.weight
    for slot in np.unique(into[into >= 0]):
        members = np.flatnonzero(into == slot)
        merge(tables, table, slot, mean_key(keys, members), mean_value(values, members), weights[members[0]])
        for member in members:
            told = with_entry_value(writes[member], np.float64(tables.values[table, slot]))
            strategy.blended(slot, told, numbers_of(strategy, tables, table))
    if without_slot:
        tables.writes[table] += len(keys)


@compiled
def write_episode(
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
    """Write states in batches of N − 1 at most, so that not every entry of a table can be replaced by one."""
    most = max(tables.values.shape[1] - 1, 1)
    for first in range(0, len(keys), most):
        some = slice(first, first + most)
        returns = episode_returns[some] if len(episode_returns) == len(keys) else episode_returns
        write_batch(strategy, tables, table, keys[some], values[some], states[some], returns, renewal, reading)
