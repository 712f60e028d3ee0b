"""Some of the states that an evaluation visits, evenly apart, with the actions taken there."""

from typing import Any

import numpy as np

from engram.typing import Array, Longs

MOST = 100  # states that are kept; an even number


class Visits:
    """Keeps every state at first and then, whenever there are too many, every other one of those kept."""

    def __init__(self) -> None:
        self._states: list[Array] = []
        self._actions: list[int] = []
        self._seen, self._every = 0, 1

    def add(self, observation: Any, action: int) -> None:
        """A state was visited, and the action of this number, from 0, was taken."""
        if self._seen % self._every == 0:
            if len(self._states) == MOST:
                self._states, self._actions = self._states[::2], self._actions[::2]
                self._every *= 2
            self._states.append(np.array(observation))
            self._actions.append(action)
        self._seen += 1

    @property
    def observations(self) -> Array:
        """The states that were kept, [B, …]."""
        return np.stack(self._states)

    @property
    def actions(self) -> Longs:
        """The actions taken in them, [B]."""
        return np.array(self._actions, np.int64)
