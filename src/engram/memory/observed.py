"""Clusters found by raw observations, while values are read by keys: for keys that a network makes and changes.

The observation behind each entry lies in further columns of the tables, after those of the strategy. It is stored and
merged as the key is, with the same weights, and what is nearest to a state that is written is found among these.
"""

from typing import Any

import numpy as np

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory.batch import can_merge_episodes
from engram.memory.description import count_wanted, describe, find_match, is_full, is_updated
from engram.memory.read import Reading
from engram.memory.store import Store
from engram.memory.strategies import STRATEGIES, CompiledStrategy, Strategy
from engram.memory.strategy_types import Kernel
from engram.memory.tables import Renewal, Tables
from engram.memory.write import place
from engram.typing import Doubles, Floats, States, Whole


def check_observed(strategy: Strategy) -> None:
    """Raise InvalidInputError unless the clusters of a strategy can be found by observations."""
    if not can_merge_episodes(strategy) or strategy.needs_neighbours or strategy.needs_estimate:
        names = ", ".join(name for name in STRATEGIES.built_in if STRATEGIES.built_in[name].clusters)
        raise InvalidInputError(
            f"clusters can be found by observations with a compiled strategy that merges ({names}) and needs no more "
            f"than the nearest entry, got {strategy.name!r}; choose one of these, or let them be found by keys"
        )


class ObservedStore(Store):
    """As `Store`, for states that are written together with their observations."""

    def __init__(self, *, observation_size: int, **settings: Any) -> None:
        self.observation_size = observation_size
        super().__init__(**settings)
        self._write_observed = Kernel(write_observed)

    def count_columns(self) -> int:
        """Further numbers per entry: the strategy's, and an observation."""
        return super().count_columns() + self.observation_size

    def write_with(
        self, observations: Floats, action: int, keys: Floats, values: Floats, states: States, returns: Doubles
    ) -> None:
        """As `write`, with the observations of the states, [T, observation_size]."""
        try:
            self._write_observed(
                self.compiled,
                self.tables,
                action,
                keys,
                values,
                states,
                returns,
                self.renewal,
                self.reading,
                observations,
            )
        finally:
            if self.watched:
                self.check_numbers()
        self.keep_sketch()


@compiled
def nearest_observed(observed: Doubles, size: Whole, observation: Floats) -> tuple[Whole, float]:
    """The entry whose observation [dims, capacity] is the nearest, ties to the lowest slot, and its d²."""
    nearest, least = 0, np.inf
    for slot in range(size):
        distance = 0.0
        for dim in range(len(observation)):
            difference = observed[dim, slot] - np.float64(observation[dim])
            distance += difference * difference
        if distance < least:
            nearest, least = slot, distance
    return nearest, least


@compiled
def write_observed(
    strategy: CompiledStrategy,
    tables: Tables,
    table: int,
    keys: Floats,  # [T, key_size]
    values: Floats,  # [T]
    states: States,  # [T]
    episode_returns: Doubles,  # [T], or [1] for all
    renewal: Renewal,
    reading: Reading,
    observations: Floats,  # [T, dims]
) -> None:
    """As `write_states`, with the nearest entry found by observations."""
    tables, keys, values, states = borrowed(tables), borrowed(keys), borrowed(values), borrowed(states)
    dims = observations.shape[1]
    observed = tables.columns[table, tables.columns.shape[1] - dims :]  # [dims, capacity]
    slots, distances = np.empty(1, np.int32), np.empty(1, np.float32)
    for t in range(len(keys)):
        tables.clock[0] += 1
        match = find_match(tables, table, states[t])
        updated = is_updated(strategy, tables, table, match)
        found = min(count_wanted(strategy, updated, is_full(tables, table), 1), tables.size[table])
        if found:
            slots[0], distances[0] = nearest_observed(observed, tables.size[table], observations[t])
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
        placed = place(strategy, tables, table, keys[t], states[t], write, updated, renewal)
        if not updated and placed.slot >= 0:  # the columns of a new entry are 0
            for dim in range(dims):
                old = observed[dim, placed.slot]
                observed[dim, placed.slot] = old + placed.weight * (np.float64(observations[t, dim]) - old)
