"""PyTorch, if it is there: which device to use, and how many threads.

Importing this module needs the `torch` extra; only what learns with networks imports it.
"""

from engram import checks
from engram.errors import InvalidInputError, MissingExtraError

try:
    import torch
except ModuleNotFoundError as error:
    raise MissingExtraError(
        'NEC and D3QN learn with PyTorch, which is not installed; pip install "engram-rl[torch]"'
    ) from error

__all__ = ["find_device", "torch"]

torch.set_num_threads(1)  # these networks are small: more threads only wait for each other


def find_device(name: str) -> torch.device:
    """The device of that name; "auto" is the GPU where there is one."""
    checks.one_of("device", name.split(":", maxsplit=1)[0], ("auto", "cpu", "cuda"))
    there = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if there else "cpu")
    if name.startswith("cuda") and not there:
        raise InvalidInputError(f'device {name!r} was asked for, but PyTorch sees no GPU; use "cpu" or "auto"')
    return torch.device(name)
