"""What a memory knows of a state in two ways: what is stored of the state itself, and what its neighbours say."""

from typing import NamedTuple

import numpy as np

from engram.agents.common.episode import as_array
from engram.compiling import compiled
from engram.memory import EpisodicMemory
from engram.memory.store import Neighbours
from engram.typing import Doubles, Floats, Longs


class Estimates(NamedTuple):
    """Estimates of Q(s, a) for pairs of a key and an action, in arrays of any one shape; NaN where there is none."""

    stored: Doubles  # the value of the entry that counts as this very state
    near: Doubles  # the weighted mean over the other neighbours
    nearest: Floats  # d² of the nearest entry; infinite where there is none


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


@compiled
def pull_together(
    values: Floats,  # [B, actions, k] of the nearest entries, nearest first
    distances: Floats,  # [B, actions, k], squared
    found: Longs,  # [B, actions], how many there are
    delta: float,
    inverse: bool,
    same: float,  # the d² up to which an entry counts as the state itself
    pooling: float,
    near: Doubles,  # [B, actions], out
) -> None:
    """What the neighbours of each action say, pulled towards what the nearest entries of all actions say.

    Both leave out the state itself, as that action's table has it. Weights are 1 at the distance of the kᵗʰ nearest of
    all, so that those of far entries are small beside `pooling`.
    """
    keys, actions, neighbours = values.shape
    weights = np.zeros((actions, neighbours))
    for b in range(keys):
        listed = np.sort(distances[b].ravel()[(np.arange(neighbours) < found[b].reshape(-1, 1)).ravel()])
        if len(listed) == 0:
            continue
        reach = np.float64(listed[min(neighbours, len(listed)) - 1])
        for action in range(actions):
            for i in range(found[b, action]):
                distance = np.float64(distances[b, action, i])
                weights[action, i] = (reach + delta) / (distance + delta) if inverse else 1.0
        for action in range(actions):
            first = 1 if found[b, action] > 0 and distances[b, action, 0] <= same else 0
            own = whole = own_total = total = 0.0
            for other in range(actions):
                for i in range(first if other == action else 0, found[b, other]):
                    weight, value = weights[other, i], np.float64(values[b, other, i])
                    if other == action:
                        own, own_total = own + weight, own_total + weight * value
                    if distances[b, other, i] <= reach:
                        whole, total = whole + weight, total + weight * value
            if whole > 0:
                near[b, action] = (own_total + pooling * total / whole) / (own + pooling)


def estimate(
    memory: EpisodicMemory, actions: Longs, keys: Floats, *, same: float = 0.0, touch: bool = False
) -> Estimates:
    """Both estimates for keys [R, key_size], each in the table of its own action; with `touch` it counts as use.

    An entry at a squared distance of up to `same` counts as the state itself. It is one of the k that are found, so
    that a state that is stored has k − 1 other neighbours.
    """
    return _weighed(memory, memory.look_up(actions, keys, touch=touch), same)


def estimate_everywhere(
    memory: EpisodicMemory, keys: Floats, *, same: float = 0.0, pooling: float = 0.0, touch: bool = False
) -> Estimates:
    """The same for keys [B, key_size] in every table, [B, actions], what neighbours say being pulled together."""
    tables, shape = np.arange(memory.actions), (len(keys), memory.actions)
    listed = memory.look_up(np.tile(tables, len(keys)), keys.repeat(len(tables), 0), touch=touch)
    stored, near, nearest = _weighed(memory, listed, same)
    found = Estimates(stored.reshape(shape), near.reshape(shape), nearest.reshape(shape))
    if pooling:
        values, distances = as_array(listed.values).reshape(*shape, -1), listed.distances.reshape(*shape, -1)
        counts, inverse = listed.found.reshape(shape), memory.kernel == "inverse"
        pull_together(values, distances, counts, memory.delta, inverse, same, pooling, found.near)
    return found


def _weighed(memory: EpisodicMemory, listed: Neighbours, same: float) -> Estimates:
    stored, near = np.empty(len(listed.found)), np.empty(len(listed.found))
    inverse = memory.kernel == "inverse"
    weigh_apart(as_array(listed.values), listed.distances, listed.found, memory.delta, inverse, same, stored, near)
    return Estimates(stored, near, np.where(listed.found > 0, listed.distances[:, 0], np.float32(np.inf)))
