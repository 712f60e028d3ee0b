"""Weights of networks as arrays: which numbers they may be, whoever computes with them."""

from typing import Any

import numpy as np

from engram.errors import DivergedError, InvalidInputError
from engram.typing import Floats

LARGEST_WEIGHT = 1e6  # up or down, of a network that has not diverged


def check_fit(
    array: Any, shape: tuple[int, ...], *, lowest: float = -LARGEST_WEIGHT, highest: float = LARGEST_WEIGHT
) -> Floats:
    """An array to be loaded; InvalidInputError unless it has this shape and its numbers are within limits."""
    if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float32:
        raise InvalidInputError(f"weights must be float32 of shape {shape}, got {array!r:.100}")
    if not ((array >= lowest) & (array <= highest)).all():
        raise InvalidInputError(f"weights must be numbers from {lowest:g} to {highest:g}, got others, NaN or infinity")
    return array


def require_sound(sound: bool) -> None:
    """Raise InvalidInputError unless all weights of a network are numbers that could be loaded."""
    if not sound:
        raise InvalidInputError(
            f"weights must be numbers from -{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}: the network diverged"
        )


def require_finite(finite: bool) -> None:
    """Raise DivergedError unless the gradients of a learning step are finite, and weights stay within limits."""
    if not finite:
        raise DivergedError(
            f"learning has diverged: gradients are not finite or weights pass ±{LARGEST_WEIGHT:g}, and nothing was "
            "learned from this step; choose a smaller learning_rate, smaller rewards or another seed"
        )
