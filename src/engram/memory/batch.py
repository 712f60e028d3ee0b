"""Writing an episode's states as one batch: where each goes is decided before any is merged."""

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
    numbers_of,
    with_entry_value,
)
from engram.memory.read import Reading
from engram.memory.strategies import STRATEGIES, CompiledStrategy, Strategy
from engram.memory.strategies.decisions import BLEND, REPLACE
from engram.memory.tables import Tables, merge
from engram.memory.write import decided, store_new, write_states
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
def merge_batch(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    keys: Floats,  # [m, dims]
    values: Floats,  # [m]
    states: States,  # [m]
    episode_returns: Doubles,  # [m], or [1] for all
    reading: Reading,
) -> None:
    """Write states that find their table full: some replace entries, the others are merged into the nearest.

    All decisions are taken first. Then each entry merges the mean of the states that go to it:

        c ← (n c + s̄)/(n + 1)      Q ← (n Q + R̄)/(n + 1)      n ← n + their number

    The number of writes, by which counts fall, is raised at the end only. So no entry expires on the way, and the
    weights are those of the n before the batch.
    """
    tables, keys = borrowed(tables), borrowed(keys)
    into = np.full(len(keys), -1, np.int64)
    weights = np.empty(len(keys), np.float64)
    distances = np.empty(reading.neighbours, np.float32)
    slots = np.empty(reading.neighbours, np.int32)
    wanted = count_wanted(strategy, False, True, reading.neighbours)
    writes = []
    for t in range(len(keys)):
        tables.clock[0] += 1
        found = find_nearest(strategy, tables, table, keys[t], wanted, slots, distances)
        write = describe(
            strategy,
            tables,
            table,
            np.float64(values[t]),
            episode_returns[min(t, len(episode_returns) - 1)],
            find_match(tables, table, states[t]),
            False,
            slots[:found],
            distances[:found],
            reading,
        )
        writes.append(write)
        decision = decided(strategy, tables, table, write)
        tables.written[table, decision.kind] += 1
        if decision.kind == BLEND:
            into[t], weights[t] = decision.slot, decision.weight
        elif decision.kind == REPLACE:
            store_new(strategy, tables, table, np.int64(decision.slot), keys[t], states[t], write)
    for slot in np.unique(into[into >= 0]):
        members = np.flatnonzero(into == slot)
        merge(tables, table, slot, mean_key(keys, members), mean_value(values, members), weights[members[0]])
        for member in members:
            told = with_entry_value(writes[member], np.float64(tables.values[table, slot]))
            strategy.blended(slot, told, numbers_of(strategy, tables, table))
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
    step: float,
    reading: Reading,
) -> None:
    """As `write_states` while there is room; the states that find the table full are one batch."""
    capacity = tables.values.shape[1]
    t = 0
    while t < len(keys) and tables.size[table] < capacity:
        returns = episode_returns[t : t + 1] if len(episode_returns) == len(keys) else episode_returns
        write_states(
            strategy, tables, table, keys[t : t + 1], values[t : t + 1], states[t : t + 1], returns, step, reading
        )
        t += 1
    returns = episode_returns[t:] if len(episode_returns) == len(keys) else episode_returns
    merge_batch(strategy, tables, table, keys[t:], values[t:], states[t:], returns, reading)
