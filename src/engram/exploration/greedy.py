"""The action with the highest value, and how ties are broken."""

import numpy as np

from engram.compiling import compiled
from engram.hashing import state_of
from engram.typing import Array, Floats, Longs


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


@compiled
def count_best_of_each(q: Floats, actions: Longs, tied: Longs) -> None:
    """For every row of values [B, actions], the first of the best actions and how many share its value."""
    for row in range(len(q)):
        actions[row], tied[row] = count_best(q[row])


def nth_best(q: Floats, n: int) -> int:
    """Of the actions that share the highest value, number n."""
    return int(np.flatnonzero(q == q.max())[n])


def greedy(q: Floats, generator: np.random.Generator, ties: str = "random", allowed: Longs | None = None) -> int:
    """One of the best actions for Q-values [actions], of all or of those allowed, ties at random or to the first."""
    if allowed is not None:
        return int(allowed[greedy(q[allowed], generator, ties)])
    first, count = count_best(q)
    return first if count == 1 or ties == "first" else nth_best(q, int(generator.integers(count)))


def uniform(actions: int, generator: np.random.Generator, allowed: Longs | None = None) -> int:
    """One of so many actions, or of those allowed, each as likely as the others."""
    return int(generator.integers(actions) if allowed is None else allowed[generator.integers(len(allowed))])


def greedy_by_hash(q: Floats, observations: Array, seed: int, ties: str = "random") -> Longs:
    """The best actions for Q-values [B, actions], ties by a hash of seed and observation, or to the first."""
    if ties == "first":
        best: Longs = q.argmax(axis=1)
        return best
    actions, tied = np.empty((2, len(q)), np.int64)
    count_best_of_each(q, actions, tied)
    for row, count in enumerate(tied.tolist()):
        if count > 1:
            actions[row] = nth_best(q[row], state_of(observations[row], seed=seed) % count)
    return actions
