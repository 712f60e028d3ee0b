"""ε-greedy exploration whose random actions last for a while (εz-greedy: Dabney, Ostrovski & Barreto 2021).

A single random step is undone by the next greedy one, so an agent stays near what it knows. An action that is kept for
n steps gets it elsewhere. How long, is drawn from a heavy tail, P(n) ∝ n^−tail: mostly one step, now and then many.
"""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from engram.errors import InvalidInputError
from engram.exploration.base import Exploration, View, check_steps, linear, sample
from engram.typing import Doubles

MOST_LONGEST = 10_000


@dataclass
class Kept:
    """A random action that lasts."""

    action: int = 0  # the environment's number for it
    left: int = 0  # steps for which it is still to be taken

    def in_view(self, view: View) -> int | None:
        """Its number among the actions in view; None if it cannot be taken now."""
        if view.allowed is None:
            return self.action if self.action < view.actions else None
        found = np.flatnonzero(view.allowed == self.action)
        return int(found[0]) if len(found) else None


@dataclass(frozen=True)
class Lasting(Exploration):
    """With probability ε(step) a random action that is kept for n steps, P(n) ∝ n^−tail; otherwise a greedy one."""

    initial: float = 1.0  # ε at the start
    final: float = 5e-3  # ε at the end
    start_steps: int = 5_000  # step from which ε falls
    end_steps: int = 25_000  # step at which it has reached its final value
    tail: float = 2.0  # the larger, the shorter actions last
    longest: int = 100  # steps

    name = "lasting"

    def __post_init__(self) -> None:
        self.check_numbers({"initial": (0, 1), "final": (0, 1)})
        check_steps(self)
        self.check_numbers({"tail": (0, 100)})
        self.check_whole({"longest": (1, MOST_LONGEST)})

    @cached_property
    def kept(self) -> Kept:
        """The action that lasts: what is remembered, apart from the options."""
        return Kept()

    @cached_property
    def lengths(self) -> Doubles:
        """P(n) for n = 1, 2, …, longest."""
        weights = np.arange(1, self.longest + 1, dtype=np.float64) ** -self.tail
        return cast(Doubles, weights / weights.sum())

    def random_share(self, step: int) -> float:
        """The probability that a random action begins at a step."""
        return linear(step, self.initial, self.final, self.start_steps, self.end_steps)

    def begin_episode(self) -> None:
        """An action ends with its episode."""
        self.kept.left = 0

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """The action that lasts, if it still can be taken; a new random one with probability ε; or a greedy one."""
        kept = self.kept
        if kept.left > 0:
            found = kept.in_view(view)
            kept.left = kept.left - 1 if found is not None else 0
            if found is not None:
                return found
        if generator.random() >= self.random_share(step):
            return view.greedy(generator)
        chosen = int(generator.integers(view.actions))
        kept.action = chosen if view.allowed is None else int(view.allowed[chosen])
        kept.left = sample(self.lengths, generator)  # one less than n: this step is the first
        return chosen

    def state_dict(self) -> dict[str, Any]:
        """The action that lasts, and for how many steps."""
        return asdict(self.kept)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        action, left = state.get("action"), state.get("left")
        if not (type(action) is int and type(left) is int and action >= 0 and 0 <= left < self.longest):
            raise InvalidInputError(
                f"a lasting action must have a number from 0 and 0 to {self.longest - 1} steps left, got {state}"
            )
        self.kept.action, self.kept.left = action, left
