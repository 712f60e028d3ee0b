"""PyTorch, if it is there, and which device to use.

Importing this module needs the `torch` extra; only what learns with networks imports it.
"""

from collections.abc import Iterable
from typing import Any

from engram import checks
from engram.errors import InvalidInputError, MissingExtraError
from engram.weights import LARGEST_WEIGHT, check_fit, require_sound

try:
    import torch
except ModuleNotFoundError as error:
    raise MissingExtraError(
        "networks for images, on GPUs and of your own are PyTorch's, which is not installed; "
        'pip install "engram-rl[torch]"'
    ) from error

__all__ = ["check_weights", "find_device", "free_on", "put", "torch"]


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is the GPU where there is one."""
    checks.one_of("device", name.split(":", maxsplit=1)[0], ("auto", "cpu", "cuda"))
    there = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if there else "cpu")
    if name.startswith("cuda") and not there:
        raise InvalidInputError(f'device {name!r} was asked for, but PyTorch sees no GPU; use "cpu" or "auto"')
    return torch.device(name)


def free_on(device: torch.device) -> int | None:
    """Bytes that are free on a GPU, those among them that PyTorch holds in reserve; None for main memory."""
    if device.type != "cuda":
        return None
    reserve = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + reserve


def put(weight: torch.Tensor, array: Any, **limits: float) -> None:
    """Copy an array into a tensor of the same shape, if it fits and its numbers are within limits."""
    fitting = check_fit(array, tuple(weight.shape), **limits)
    with torch.no_grad():
        weight.copy_(torch.from_numpy(fitting))


def check_weights(weights: Iterable[torch.Tensor]) -> None:
    """Raise InvalidInputError unless all weights are numbers that `put` would take."""
    require_sound(all(bool((weight.detach().abs() <= LARGEST_WEIGHT).all()) for weight in weights))
