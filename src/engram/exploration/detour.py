"""Detours: the best known way, left once in every episode."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.exploration.base import Exploration, View, check_steps, linear
from engram.running_mean import RunningMean

RECENT_EPISODES = 10  # over which the length of an episode is averaged


@dataclass
class Detour(Exploration):
    """`length` random actions in a row, begun at a time drawn uniformly from 0 to the mean length of recent episodes.

    All other actions are greedy, but for a share ε(step) of random ones, which falls in a straight line as in ε-greedy
    exploration. So a memory that knows a good way follows it to a random place and tries something else there, while
    ε-greedy exploration leaves a long way early on, or hardly ever.
    """

    length: int = 1  # random actions in a row
    initial: float = 1.0  # ε at the start
    final: float = 0.0  # ε at the end
    start_steps: int = 5_000  # step from which ε falls
    end_steps: int = 25_000  # step at which it has reached its final value

    name = "detour"

    def __post_init__(self) -> None:
        self.check_whole({"length": (1, checks.MOST_STEPS)})
        self.check_numbers({"initial": (0, 1), "final": (0, 1)})
        check_steps(self)
        self._taken = 0  # steps of this episode
        self._begin = -1  # the step of it at which the detour begins; −1: not drawn yet
        self._episode_length = RunningMean(RECENT_EPISODES)

    def begin_episode(self) -> None:
        """Note how long the last episode was."""
        if self._taken:
            self._episode_length.add(float(self._taken))
        self._taken, self._begin = 0, -1

    def random_share(self, step: int) -> float:
        """ε at a step, and the share of the detour in an episode."""
        epsilon = linear(step, self.initial, self.final, self.start_steps, self.end_steps)
        return epsilon + (1 - epsilon) * min(1.0, self.length / max(self._episode_length.mean, 1.0))

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """A uniform action on the detour and with probability ε, otherwise a greedy one."""
        if self._begin < 0:
            self._begin = int(generator.integers(max(round(self._episode_length.mean), 1)))
        taken, self._taken = self._taken, self._taken + 1
        epsilon = linear(step, self.initial, self.final, self.start_steps, self.end_steps)
        if self._begin <= taken < self._begin + self.length or generator.random() < epsilon:
            return int(generator.integers(view.actions))
        return view.greedy(generator)

    def state_dict(self) -> dict[str, Any]:
        """Where in the episode it is, when the detour begins, and how long episodes are."""
        return {"taken": self._taken, "begin": self._begin, **self._episode_length.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        taken, begin = state["taken"], state["begin"]
        if not all(type(each) is int and -1 <= each <= checks.MOST_STEPS for each in (taken, begin)) or taken < 0:
            raise InvalidInputError(
                f"a detour begins at a step of an episode, got {begin!r:.40} after {taken!r:.40} steps"
            )
        self._episode_length.load_state_dict(state)
        self._taken, self._begin = taken, begin
