"""Action masks: which actions are possible in a state, as environments say it in `info["action_mask"]`."""

from typing import Any

import numpy as np

from engram.envs.given import as_array
from engram.errors import FaultyEnvironmentError, InvalidInputError
from engram.typing import Array, Longs


def is_mask(array: Array, shape: tuple[int, ...]) -> bool:
    """Whether an array has this shape and consists of 0 and 1, or False and True."""
    return array.shape == shape and array.dtype.kind in "biu" and bool(((array == 0) | (array == 1)).all())


def allowed_actions(mask: Any, actions: int, step: int) -> Longs | None:
    """The actions, counted from 0, that an environment's mask allows; None if it allows all."""
    array = as_array(mask, "info['action_mask']")
    if not is_mask(array, (actions,)):
        raise FaultyEnvironmentError(
            f"the environment gave the action_mask {mask!r:.100} at step {step}; it must be an array of {actions} "
            "whole numbers, 0 or 1 for each action: check the environment"
        )
    allowed: Longs = np.flatnonzero(array)
    if not len(allowed):
        raise FaultyEnvironmentError(
            f"the environment gave an action_mask at step {step} that allows no action, though the game goes on; it "
            "must allow at least one, or the game must end (terminated): check the environment"
        )
    return None if len(allowed) == actions else allowed


def as_masks(given: Any, count: int, actions: int, *, single: bool) -> Array:
    """Masks that a user gave for so many observations, as booleans [B, actions]; InvalidInputError for others."""
    array = as_array(given, "action_masks")
    array = array[None] if single and array.ndim == 1 else array
    if not is_mask(array, (count, actions)):
        shape = f"({actions},)" if single else f"({count}, {actions})"
        raise InvalidInputError(
            f"action_masks must have shape {shape} and hold 0 or 1, or True or False, for each action; "
            f"got {array.dtype} of shape {array.shape[1:] if single else array.shape}: {array!s:.100}"
        )
    masks: Array = array.astype(np.bool_)
    if not masks.any(axis=1).all():
        row = int(np.flatnonzero(~masks.any(axis=1))[0])
        raise InvalidInputError(
            f"action_masks must allow at least one action, but that of observation {row} allows none"
        )
    return masks
