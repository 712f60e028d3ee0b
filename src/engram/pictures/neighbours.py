"""The entries that Q of a state is made of."""

from typing import Any, NamedTuple

import numpy as np

from engram.agents import Agent
from engram.pictures.plane import keys_of
from engram.typing import Array, Floats, Longs


class Near(NamedTuple):
    """The entries of one table that are nearest to a state."""

    slots: Longs
    values: Floats
    weights: Floats  # of a read; their sum is 1


def neighbours(agent: Agent, observation: Array) -> list[Near]:
    """For each action the entries that Q is made of; nothing for an agent without a memory."""
    if not agent.has_memory:
        return []
    memory: Any = agent.memory  # type: ignore[attr-defined]
    key, found = keys_of(agent, np.asarray(observation)[None]), []
    for action in range(memory.actions):
        slots, distances = memory.find_neighbours(action, key)
        values = memory.entries(action, keys=False)["values"][slots[0]]
        weights = 1 / (distances[0] + memory.delta) if memory.kernel == "inverse" else np.ones_like(distances[0])
        if memory.exact_read and len(weights) and distances[0][0] == 0:
            weights = (np.arange(len(weights)) == 0).astype(np.float32)  # the value stored for this very state
        found.append(Near(slots[0], values, weights / weights.sum() if len(weights) else weights))
    return found
