"""Novelty-seeking exploration without units: distances and values are compared with the usual ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engram.exploration.base import Exploration, View, check_steps, linear
from engram.exploration.novelty import bonus
from engram.running_mean import RunningMean

SPAN = 1_000  # steps over which the usual distance and the usual range of values are averaged
LEAST = 1e-12  # that a distance is divided by


@dataclass
class RelativeNovelty(Exploration):
    """argmax over a of Q(s, a) + weight · r · d/(d + scale · m), d being the distance to the nearest entry for a.

    r is the running mean of the range of Q over actions, max Q − min Q, and m that of d over actions and steps. So one
    pair of settings means the same whatever the units of rewards and of keys. A share ε(step) of actions is random.
    """

    weight: float = 1.0  # the largest bonus, in ranges of Q
    scale: float = 1.0  # the distance at which half of it is given, in mean distances
    initial: float = 1.0  # ε at the start
    final: float = 5e-3  # ε at the end
    start_steps: int = 5_000  # step from which ε falls
    end_steps: int = 25_000  # step at which it has reached its final value

    name = "relative-novelty"
    needs_distances = True

    def __post_init__(self) -> None:
        self.check_numbers({"weight": (0, 1e9), "scale": (1e-9, 1e9), "initial": (0, 1), "final": (0, 1)})
        check_steps(self)
        self._range, self._distance = RunningMean(SPAN), RunningMean(SPAN)

    def random_share(self, step: int) -> float:
        """ε at a step."""
        return linear(step, self.initial, self.final, self.start_steps, self.end_steps)

    def choose(self, step: int, generator: np.random.Generator, view: View) -> int:
        """The action with the highest value and bonus together; a uniform one with probability ε."""
        if generator.random() < self.random_share(step):
            return int(generator.integers(view.actions))
        q, squares = view.q_values(), view.distances()
        self._range.add(float(q.max()) - float(q.min()))
        known = squares[np.isfinite(squares)]
        if len(known):
            self._distance.add(float(np.sqrt(known.astype(np.float64)).mean()))
        scale = max(self.scale * self._distance.mean, LEAST)
        return view.greedy(generator, q + bonus(squares, self.weight * self._range.mean, scale))

    def state_dict(self) -> dict[str, Any]:
        """The usual range of values, and the usual distance."""
        return {"range": self._range.state_dict(), "distance": self._distance.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self._range.load_state_dict(state["range"])
        self._distance.load_state_dict(state["distance"])
