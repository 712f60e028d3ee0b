"""ε-greedy exploration, the paper's: a random action with probability ε, otherwise the best one."""

from dataclasses import dataclass

import numpy as np

from engram.exploration.base import Exploration, View, check_steps, linear


@dataclass(frozen=True)
class EpsilonGreedy(Exploration):
    """P(random action) = ε(step), which falls in a straight line. A random step needs no Q-values."""

    initial: float = 1.0  # ε at the start
    final: float = 5e-3  # ε at the end
    start_steps: int = 5_000  # step from which ε falls
    end_steps: int = 25_000  # step at which it has reached its final value

    name = "epsilon-greedy"

    def __post_init__(self) -> None:
        self.check_numbers({"initial": (0, 1), "final": (0, 1)})
        check_steps(self)

    def random_share(self, step: int) -> float:
        """ε at a step."""
        return linear(step, self.initial, self.final, self.start_steps, self.end_steps)

    def explores(self, step: int, generator: np.random.Generator) -> bool:
        """Whether the action is to be random."""
        return generator.random() < (self.final if step > self.end_steps else self.random_share(step))

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """A uniform action with probability ε, otherwise a greedy one."""
        if self.explores(step, generator):
            return int(generator.integers(view.actions))
        return view.greedy(generator)
