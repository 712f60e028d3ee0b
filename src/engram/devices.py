"""PyTorch, if it is there, and which device to use.

Importing this module needs the `torch` extra; only what learns with networks imports it.
"""

from collections.abc import Iterable

import numpy as np

from engram import checks
from engram.errors import InvalidInputError, MissingExtraError
from engram.typing import Array

try:
    import torch
except ModuleNotFoundError as error:
    raise MissingExtraError(
        'NEC and D3QN learn with PyTorch, which is not installed; pip install "engram-rl[torch]"'
    ) from error

__all__ = ["check_weights", "find_device", "put", "torch"]

LARGEST_WEIGHT = 1e6  # up or down, of a network that has not diverged


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is the GPU where there is one."""
    checks.one_of("device", name.split(":", maxsplit=1)[0], ("auto", "cpu", "cuda"))
    there = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if there else "cpu")
    if name.startswith("cuda") and not there:
        raise InvalidInputError(f'device {name!r} was asked for, but PyTorch sees no GPU; use "cpu" or "auto"')
    return torch.device(name)


def put(
    weight: torch.Tensor, array: Array, *, lowest: float = -LARGEST_WEIGHT, highest: float = LARGEST_WEIGHT
) -> None:
    """Copy an array into a tensor of the same shape; InvalidInputError if it does not fit or a number is too large."""
    if not isinstance(array, np.ndarray) or array.shape != tuple(weight.shape) or array.dtype != np.float32:
        raise InvalidInputError(f"weights must be float32 of shape {tuple(weight.shape)}, got {array!r:.100}")
    if not ((array >= lowest) & (array <= highest)).all():
        raise InvalidInputError(f"weights must be numbers from {lowest:g} to {highest:g}, got others, NaN or infinity")
    with torch.no_grad():
        weight.copy_(torch.from_numpy(array))


def check_weights(weights: Iterable[torch.Tensor]) -> None:
    """Raise InvalidInputError unless all weights are numbers that `put` would take."""
    if not all(bool((weight.detach().abs() <= LARGEST_WEIGHT).all()) for weight in weights):
        raise InvalidInputError(
            f"weights must be numbers from -{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}: the network diverged"
        )
