"""Choosing an action from Q-values: ε-greedy, with ties broken fairly."""

from dataclasses import dataclass

import numpy as np

from engram.compiling import compiled
from engram.hashing import state_of
from engram.typing import Array, Floats, Longs


@dataclass(frozen=True)
class LinearSchedule:
    """A number that goes from `initial` to `final` in a straight line between two steps."""

    initial: float
    final: float
    start_steps: int
    end_steps: int

    def __call__(self, step: int) -> float:
        """The number at a step."""
        if step <= self.start_steps:
            return self.initial
        if step >= self.end_steps:
            return self.final
        done = (step - self.start_steps) / (self.end_steps - self.start_steps)
        return self.initial + done * (self.final - self.initial)


@compiled
def count_best(q: Floats) -> tuple[int, int]:
    """The first action with the highest value, and how many share that value."""
    first, count = 0, 1
    for action in range(1, len(q)):
        if q[action] > q[first]:
            first, count = action, 1
        elif q[action] == q[first]:
            count += 1
    return first, count


def nth_best(q: Floats, n: int) -> int:
    """Of the actions that share the highest value, number n."""
    return int(np.flatnonzero(q == q.max())[n])


def greedy(q: Floats, rng: np.random.Generator, ties: str = "random") -> int:
    """One of the best actions for Q-values [actions], ties at random or to the first."""
    first, count = count_best(q)
    return first if count == 1 or ties == "first" else nth_best(q, int(rng.integers(count)))


def greedy_by_hash(q: Floats, observations: Array, seed: int, ties: str = "random") -> Longs:
    """The best actions for Q-values [B, actions], ties by a hash of seed and observation, or to the first."""
    actions: Longs = q.argmax(axis=1)
    if ties == "first":
        return actions
    tied = (q == q[np.arange(len(q)), actions][:, None]).sum(axis=1)
    for row in np.flatnonzero(tied > 1):
        actions[row] = nth_best(q[row], state_of(observations[row], seed=seed) % int(tied[row]))
    return actions
