"""PyTorch, if it is there, and which device to use.

Importing this module needs the `torch` extra; only what learns with networks imports it.
"""

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

__all__ = ["find_device", "put", "torch"]


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is the GPU where there is one."""
    checks.one_of("device", name.split(":", maxsplit=1)[0], ("auto", "cpu", "cuda"))
    there = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if there else "cpu")
    if name.startswith("cuda") and not there:
        raise InvalidInputError(f'device {name!r} was asked for, but PyTorch sees no GPU; use "cpu" or "auto"')
    return torch.device(name)


def put(weight: torch.Tensor, array: Array) -> None:
    """Copy an array into a tensor of the same shape; raise InvalidInputError if it does not fit or is not finite."""
    if not isinstance(array, np.ndarray) or array.shape != tuple(weight.shape) or array.dtype != np.float32:
        raise InvalidInputError(f"weights must be float32 of shape {tuple(weight.shape)}, got {array!r:.100}")
    if not np.isfinite(array).all():
        raise InvalidInputError("weights must be finite, got NaN or infinity")
    with torch.no_grad():
        weight.copy_(torch.from_numpy(array))
