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
    """Actions for the first `count` rows of a view, each as training would choose it at the start of an episode.

    It is a copy that chooses: training's exploration, which may be in the middle of something, is left as it is.
    """
    everything: Longs = np.arange(view.actions)
    allowed = [everything] * count if masks is None else [np.flatnonzero(mask) for mask in masks]
    fresh = deepcopy(exploration)
    fresh.begin_episode()
    start = deepcopy(fresh.state_dict())
    chosen = []
    for row, some in enumerate(allowed):
        chosen.append(fresh.choose(step, rng, view.at(row).only(some)))
        if start or fresh.state_dict():
            fresh.load_state_dict(deepcopy(start))
    found = [some[check_action(n, len(some), step)] for n, some in zip(chosen, allowed, strict=True)]
    return np.array(found, np.int64)
