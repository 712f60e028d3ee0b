"""Aggregation: a state close to one that is stored counts as the same."""

from typing import Any

import numpy as np

from engram.agents.common.episode import Finished
from engram.memory import EpisodicMemory
from engram.running_mean import RunningMean

SPAN = 10_000  # states over which the distance to the nearest entry is averaged


class Aggregation:
    """Which states count as the same: those at most `radius` times the mean distance m apart.

    m is the running mean, over states that are written and not stored yet, of the distance to the nearest entry in the
    table of the action taken. So the radius means the same whatever the unit of keys.
    """

    def __init__(self, memory: EpisodicMemory, radius: float) -> None:
        self._memory, self.radius = memory, radius
        self._distance = RunningMean(SPAN)

    @property
    def square(self) -> float:
        """The squared distance up to which two states count as the same."""
        return float((self.radius * self._distance.mean) ** 2)

    def renamed(self, episode: Finished) -> Finished:
        """An episode whose states have the names of the entries that they count as the same as.

        The memory then updates these entries, which keep their keys and the larger value.
        """
        if self.radius == 0:
            return episode
        states, same = episode.states.copy(), self.square
        for action in sorted(set(episode.actions.tolist())):
            taken = np.flatnonzero(episode.actions == action)
            slots, squares = self._memory.find_neighbours(action, episode.keys[taken])
            if not slots.shape[1]:
                continue
            nearest, square = slots[:, 0], squares[:, 0].astype(np.float64)
            close = square <= same
            states[taken[close]] = self._memory.entries(action, keys=False)["states"][nearest[close]]
            for each in np.sqrt(square[square > 0]).tolist():
                self._distance.add(each)
        return episode._replace(states=states)

    def state_dict(self) -> dict[str, Any]:
        """m, where there is a radius."""
        return self._distance.state_dict() if self.radius else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        if self.radius:
            self._distance.load_state_dict(state)
