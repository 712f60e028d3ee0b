"""The state of what an agent saves: arrays, random generators, PyTorch modules, and objects with a `state_dict`."""

from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.randomness import generator_state, set_generator_state


def part_state(part: Any) -> Any:
    """What has to be saved of a part, as plain data and arrays."""
    if isinstance(part, np.random.Generator):
        return generator_state(part)
    if isinstance(part, np.ndarray):
        return part.copy()
    if part is None:
        return {}
    state = part.state_dict()
    return {name: as_saved(value) for name, value in state.items()}


def part_in_pieces(part: Any) -> Any:
    """As `part_state`, for writing to a file at once: a part that can hands out large arrays piece by piece."""
    return part.state_in_pieces() if hasattr(part, "state_in_pieces") else part_state(part)


def as_saved(value: Any) -> Any:
    """A tensor as a NumPy array of its own; anything else as it is."""
    return value.detach().cpu().numpy().copy() if hasattr(value, "detach") else value


def load_part(part: Any, state: Any) -> None:
    """Load a saved state into a part."""
    if isinstance(part, np.random.Generator):
        set_generator_state(part, state)
    elif isinstance(part, np.ndarray):
        if state.shape != part.shape or state.dtype != part.dtype:
            raise InvalidInputError(
                f"a saved array should be {part.dtype} of shape {part.shape}, got {state.dtype} of shape {state.shape}"
            )
        if part.dtype.kind == "f" and not np.isfinite(state).all():
            raise InvalidInputError("a saved array must be finite, got NaN or infinity")
        part[...] = state
    elif hasattr(part, "named_parameters"):
        from engram.devices import put  # noqa: PLC0415 (an extra)

        for name, weight in part.named_parameters():
            put(weight, state[name])
    else:
        part.load_state_dict(state)


def check_part(part: Any) -> None:
    """Raise InvalidInputError unless everything in the part fits together, where it can tell."""
    if hasattr(part, "check_valid"):
        part.check_valid()
