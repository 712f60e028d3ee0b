"""Novelty-seeking exploration: an action that was never taken in a similar state is tried first."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from engram.exploration.base import Exploration, View
from engram.typing import Floats


@dataclass(frozen=True)
class Novelty(Exploration):
    """argmax over a of Q(s, a) + weight · d/(d + scale), d being the distance to the nearest entry of a's table.

    The bonus is 0 where the state is stored and `weight` where the table is empty.
    """

    weight: float = 1.0  # the largest bonus, in the unit of returns
    scale: float = 1.0  # the distance at which half of it is given, in the unit of keys
    random: float = 0.05  # probability of a random action instead, ε

    name = "novelty"
    needs_distances = True

    def __post_init__(self) -> None:
        self.check_numbers({"weight": (0, 1e9), "scale": (1e-9, 1e9), "random": (0, 1)})

    def random_share(self, step: int) -> float | None:
        """The probability of a random action."""
        return self.random

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """The action with the highest value and bonus together."""
        if generator.random() < self.random:
            return int(generator.integers(view.actions))
        return view.greedy(generator, view.q_values() + bonus(view.distances(), self.weight, self.scale))


def bonus(distances: Floats, weight: float, scale: float) -> Floats:
    """weight · d/(d + scale) = weight · (1 − scale/(d + scale)) for squared distances d², which may be infinite."""
    return cast(Floats, (weight * (1 - scale / (np.sqrt(distances.astype(np.float64)) + scale))).astype(np.float32))
