"""Predicted actions such as in training, of those that are possible."""

from copy import deepcopy

import numpy as np

from engram.exploration import Exploration, View
from engram.training.loop import check_action
from engram.typing import Array, Floats, Longs


def possible_values(q: Floats, masks: Array | None) -> Floats:
    """Q of the actions that the masks allow, −∞ for the others, [B, actions]."""
    return q if masks is None else np.where(masks, q, -np.inf).astype(q.dtype)


def explored_actions(
    exploration: Exploration, view: View, step: int, rng: np.random.Generator, count: int, masks: Array | None
) -> Array:
    """Actions as in training for the first `count` rows of a view; the exploration is left as it was."""
    everything: Longs = np.arange(view.actions)
    allowed = [everything] * count if masks is None else [np.flatnonzero(mask) for mask in masks]
    before = deepcopy(exploration.state_dict())
    try:
        chosen = [exploration.choose(step, rng, view.at(row).only(allowed[row])) for row in range(count)]
    finally:
        if before or exploration.state_dict():
            exploration.load_state_dict(before)
    found = [some[check_action(n, len(some), step)] for n, some in zip(chosen, allowed, strict=True)]
    return np.array(found, np.int64)
