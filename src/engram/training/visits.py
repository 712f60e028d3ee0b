"""Some of the states that an evaluation visits, evenly apart, with the actions taken there."""

import numpy as np

from engram.typing import Array, Longs

MOST = 100  # states that are kept; an even number


class Visits:
    """Keeps every state at first and then, whenever there are too many, every other one of those kept."""

    def __init__(self) -> None:
        self._states: list[Array] = []
        self._actions: list[int] = []
        self._seen, self._every = 0, 1

    def add(self, observations: Array, actions: Longs) -> None:
        """States were visited, [B, …], and the actions of these numbers, from 0, were taken."""
        first, self._seen = self._seen, self._seen + len(actions)
        due = first + -first % self._every
        while due < self._seen:
            if len(self._states) == MOST:
                self._states, self._actions = self._states[::2], self._actions[::2]
                self._every *= 2
            self._states.append(observations[due - first].copy())
            self._actions.append(int(actions[due - first]))
            due += self._every

    @property
    def observations(self) -> Array:
        """The states that were kept, [B, …]."""
        return np.stack(self._states)

    @property
    def actions(self) -> Longs:
        """The actions taken in them, [B]."""
        return np.array(self._actions, np.int64)
