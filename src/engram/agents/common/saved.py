"""The state of what an agent saves: arrays, random generators, PyTorch modules, and objects with a `state_dict`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.files.exact_state import form_of_state, from_form
from engram.randomness import generator_state, set_generator_state
from engram.sources import is_ours
from engram.typing import Array


def part_state(part: Any) -> Any:
    """What has to be saved of a part, as a file holds it; InvalidInputError, naming the part, where none can."""
    if isinstance(part, np.random.Generator):
        return generator_state(part)
    if isinstance(part, np.ndarray):
        return part.copy()
    if part is None:
        return {}
    told = part.state_dict()
    if isinstance(told, Mapping):
        told = {name: as_saved(value) for name, value in told.items()}
    return form_of_state(part, told) if is_foreign(part) else told


def part_in_pieces(part: Any) -> Any:
    """As `part_state`, for writing to a file at once: a part that can hands out large arrays piece by piece."""
    return part.state_in_pieces() if hasattr(part, "state_in_pieces") else part_state(part)


def is_foreign(part: Any) -> bool:
    """Whether a part is not Engram's own, and may remember anything; a memory of any class looks after its state."""
    return not is_ours(type(part).__module__) and not hasattr(part, "state_in_pieces")


def as_saved(value: Any) -> Any:
    """A tensor as a NumPy array of its own; anything else as it is."""
    return value.detach().cpu().numpy().copy() if hasattr(value, "detach") else value


def load_part(part: Any, state: Any) -> None:
    """Load a saved state into a part."""
    if isinstance(part, np.random.Generator):
        set_generator_state(part, state)
    elif isinstance(part, np.ndarray):
        state = state if part.shape else state.reshape(())  # a file has no arrays without axes
        check_like(part, state)
        part[...] = state
    elif hasattr(part, "named_parameters"):
        load_module(part, from_form(state))
    else:
        part.load_state_dict(from_form(state) if is_foreign(part) else state)


def load_module(module: Any, told: dict[str, Any]) -> None:
    """Load parameters and buffers, such as the running statistics of batch normalisation, into a PyTorch module."""
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    for name, tensor in module.state_dict().items():
        if isinstance(tensor, torch.Tensor):
            check_like(as_saved(tensor), told[name])
            told[name] = torch.from_numpy(told[name])
    module.load_state_dict(told)


def check_like(array: Array, state: Any) -> None:
    """Raise InvalidInputError unless a saved array has an array's shape and type, and finite numbers."""
    if not isinstance(state, np.ndarray) or state.shape != array.shape or state.dtype != array.dtype:
        found = f"{state.dtype} of shape {state.shape}" if isinstance(state, np.ndarray) else f"{state!r:.100}"
        raise InvalidInputError(f"a saved array should be {array.dtype} of shape {array.shape}, got {found}")
    if array.dtype.kind == "f" and not np.isfinite(state).all():
        raise InvalidInputError("a saved array must be finite, got NaN or infinity")


def check_part(part: Any) -> None:
    """Raise InvalidInputError unless everything in the part fits together, where it can tell."""
    if hasattr(part, "check_valid"):
        part.check_valid()
