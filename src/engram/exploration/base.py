"""What an exploration is: it chooses the action of a training step from what the agent can tell it."""

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from engram.checks import MOST_STEPS
from engram.errors import InvalidInputError
from engram.exploration.greedy import greedy
from engram.parts import Part
from engram.typing import Doubles, Floats, Longs


class View:
    """What an agent can tell an exploration about the current state, computed when asked for and only once.

    Where the environment allows some actions only, the view is of those alone: `actions` is their number, values and
    distances are theirs, and an exploration chooses among 0 to `actions` − 1 without having to know. Which they are,
    `allowed` says.
    """

    def __init__(
        self,
        actions: int,
        *,
        q_values: Callable[[Any], Floats],
        distances: Callable[[Any], Floats] | None = None,
        ties: str = "random",
    ) -> None:
        self.actions = self._all = actions  # their number
        self.allowed: Longs | None = None  # the environment's numbers of the actions in view; None: all
        self._read, self._measure, self._ties = q_values, distances, ties
        self._state: Any = None
        self._q: Floats | None = None

    def at(self, state: Any) -> Self:
        """The same view of another state."""
        self._state, self._q = state, None
        self.actions, self.allowed = self._all, None
        return self

    def only(self, allowed: Longs | None) -> Self:
        """The view of these actions alone; None: of all."""
        self.actions, self.allowed = self._all if allowed is None else len(allowed), allowed
        return self

    def q_values(self) -> Floats:
        """Q of every action, [actions]."""
        if self._q is None:
            self._q = self._read(self._state)
        return self._q if self.allowed is None else self._q[self.allowed]

    def distances(self) -> Floats:
        """Squared distance to the nearest entry of each action's table, [actions]; infinite for an empty table."""
        if self._measure is None:
            raise InvalidInputError(
                "this agent has no memory and so no distances; set needs_distances = True in the exploration, which is "
                "then refused when such an agent is made"
            )
        distances = self._measure(self._state)
        return distances if self.allowed is None else distances[self.allowed]

    def greedy(self, generator: np.random.Generator, values: Floats | None = None) -> int:
        """The action with the highest Q, or with the highest of the given values; ties as the agent breaks them."""
        return greedy(self.q_values() if values is None else values, generator, self._ties)


class Exploration(Part):
    """Chooses the action of each training step, and of `predict(deterministic=False)`.

    To write your own, derive from this class and define `choose`. Draw random numbers only from the generator that
    is handed over, so that a run can be repeated. What has to be remembered between steps goes into `state_dict`.
    """

    needs_distances: ClassVar[bool] = False  # it asks for distances, which only an agent with a memory can give

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """The number of the action to take at a step of training."""
        raise NotImplementedError(f"the exploration {self.name!r} must define choose(step, generator, view)")

    def begin_episode(self) -> None:
        """Called before the first step of every training episode."""

    def random_share(self, step: int) -> float | None:
        """The probability of a random action at a step, for progress displays; None if there is no such number."""
        return None


def check_steps(exploration: Any) -> None:
    """Raise InvalidInputError unless something can change from the step `start_steps` to the step `end_steps`."""
    exploration.check_whole({"start_steps": (0, MOST_STEPS)})
    exploration.check_whole({"end_steps": (exploration.start_steps, MOST_STEPS)})


def linear(step: int, initial: float, final: float, start_steps: int, end_steps: int) -> float:
    """A number that goes from `initial` to `final` in a straight line between two steps."""
    if step <= start_steps:
        return initial
    if step >= end_steps:
        return final
    done = (step - start_steps) / (end_steps - start_steps)
    return initial + done * (final - initial)


def sample(probabilities: Doubles, generator: np.random.Generator) -> int:
    """One action, drawn with these probabilities [actions]."""
    drawn = np.searchsorted(np.cumsum(probabilities), generator.random(), side="right")
    return min(int(drawn), len(probabilities) - 1)  # rounding may leave the sum a little below 1
