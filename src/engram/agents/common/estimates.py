"""What a memory knows of a state in two ways: what is stored of the state itself, and what its neighbours say."""

from typing import NamedTuple

import numpy as np

from engram.agents.common.episode import as_array
from engram.compiling import compiled
from engram.memory import EpisodicMemory
from engram.typing import Doubles, Floats, Longs


class Estimates(NamedTuple):
    """Estimates of Q(s, a) for each of some pairs of a key and an action; NaN where there is none."""

    stored: Doubles  # [R], the value of the entry that counts as this very state
    near: Doubles  # [R], the weighted mean over the other neighbours
    nearest: Floats  # [R], d² of the nearest entry; infinite where there is none


@compiled
def weigh_apart(
    values: Floats,  # [R, k] of the nearest entries, nearest first
    distances: Floats,  # [R, k], squared
    found: Longs,  # [R], how many there are
    delta: float,
    inverse: bool,
    same: float,  # the d² up to which an entry counts as the state itself
    stored: Doubles,  # [R], out
    near: Doubles,  # [R], out
) -> None:
    """Both estimates of each row: the state itself is left out of the mean over its neighbours."""
    for row in range(len(found)):
        stored[row] = near[row] = np.nan
        first = 0
        if found[row] > 0 and distances[row, 0] <= same:
            stored[row], first = values[row, 0], 1
        total, whole = 0.0, 0.0
        for i in range(first, found[row]):
            weight = 1 / (np.float64(distances[row, i]) + delta) if inverse else 1.0
            total += weight * values[row, i]
            whole += weight
        if whole > 0:
            near[row] = total / whole


def estimate(
    memory: EpisodicMemory, actions: Longs, keys: Floats, *, same: float = 0.0, touch: bool = False
) -> Estimates:
    """Both estimates for keys [R, key_size], each in the table of its own action; with `touch` it counts as use.

    An entry at a squared distance of up to `same` counts as the state itself. It is one of the k that are found, so
    that a state that is stored has k − 1 other neighbours.
    """
    near = memory.look_up(actions, keys, touch=touch)
    stored, others, values = np.empty(len(actions)), np.empty(len(actions)), as_array(near.values)
    inverse = memory.kernel == "inverse"
    weigh_apart(values, near.distances, near.found, memory.delta, inverse, same, stored, others)
    return Estimates(stored, others, np.where(near.found > 0, near.distances[:, 0], np.float32(np.inf)))
