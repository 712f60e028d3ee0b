"""Writing an episode's states as one batch: where each goes is decided before any is merged."""

import numpy as np

from engram import checks
from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory import hash_index
from engram.memory.heap import sift
from engram.memory.read import Reading
from engram.memory.strategies import STRATEGIES, BuiltIn, Strategy
from engram.memory.strategies.base import BLEND
from engram.memory.strategies.rules import Rules, rank_renewed, rank_stored, when_full
from engram.memory.tables import Tables, merge, store
from engram.memory.write import NOT_A_NUMBER, known, look, write_built_in
from engram.typing import Floats, Longs, States


def can_merge_episodes(strategy: Strategy) -> bool:
    """Whether a strategy merges states, by rules that can be asked about many before any is merged."""
    return isinstance(strategy, BuiltIn) and strategy.clusters


def check_merging(merging: str, strategy: Strategy) -> str:
    """A way of merging, if the strategy can be asked for it."""
    checks.one_of("merging", merging, ("single", "episode"))
    if merging == "episode" and not can_merge_episodes(strategy):
        names = ", ".join(name for name in STRATEGIES.built_in if STRATEGIES.built_in[name].clusters)
        raise InvalidInputError(
            f'merging="episode" needs a built-in strategy that merges ({names}), got {strategy.name!r}; '
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
    tables: Tables,
    table: int,
    keys: Floats,  # [m, dims]
    values: Floats,  # [m]
    states: States,  # [m]
    rules: Rules,
    reading: Reading,
) -> None:
    """Write states that find their table full: first into entries that are used up, the others to the nearest.

    When all know where they go, each entry merges the mean of those that go to it:

        c ← (n c + s̄)/(n + 1)      Q ← (n Q + R̄)/(n + 1)      n ← n + their number

    The number of writes, by which counts fall, stays as it is until the end. So nothing is used up on the way, and the
    weights are those of the n before the batch.
    """
    heap, place, ranks = tables.heap[table], tables.place[table], tables.ranks[table]
    size, new = tables.size[table], np.int64(hash_index.EMPTY)
    nothing = NOT_A_NUMBER
    into = np.full(len(keys), hash_index.EMPTY, np.int64)
    weights = np.empty(len(keys), np.float64)
    for t in range(len(keys)):
        tables.clock[0] += 1
        write = look(tables, table, keys[t], np.float64(values[t]), new, True, False, rules.ordered, reading)
        decision = when_full(rules, write)
        slot = np.int64(decision.slot)
        if decision.kind == BLEND:
            into[t], weights[t] = slot, decision.weight
        else:
            store(tables, table, slot, keys[t], write.value, states[t])
            ranks[slot] = rank_stored(rules, write)
            sift(heap, place, ranks, size, slot)
    for slot in np.unique(into[into >= 0]):
        members = np.flatnonzero(into == slot)
        value = mean_value(values, members)
        merge(tables, table, slot, mean_key(keys, members), value, weights[members[0]])
        for member in members:
            write = known(tables, table, np.float64(values[member]), nothing, new, nothing, rules.ordered)
            ranks[slot] = rank_renewed(rules, ranks[slot], value, write)
        if rules.ordered:
            sift(heap, place, ranks, size, slot)
    tables.writes[table] += len(keys)


@compiled
def write_episode(
    tables: Tables,
    table: int,
    keys: Floats,  # [T, dims]
    values: Floats,  # [T]
    states: States,  # [T]
    rules: Rules,
    step: float,
    reading: Reading,
) -> None:
    """As `write_built_in` while there is room; the states that find the table full are one batch."""
    capacity = tables.values.shape[1]
    t = 0
    while t < len(keys) and tables.size[table] < capacity:
        write_built_in(tables, table, keys[t : t + 1], values[t : t + 1], states[t : t + 1], rules, step, reading)
        t += 1
    merge_batch(tables, table, keys[t:], values[t:], states[t:], rules, reading)
