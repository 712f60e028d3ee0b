"""The state of what an agent saves: arrays, random generators, PyTorch modules, and objects with a `state_dict`."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.files.exact_state import form_of_state, from_form
from engram.randomness import generator_state, set_generator_state
from engram.sources import is_ours


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
        if state.shape != part.shape or state.dtype != part.dtype:
            raise InvalidInputError(
                f"a saved array should be {part.dtype} of shape {part.shape}, got {state.dtype} of shape {state.shape}"
            )
        if part.dtype.kind == "f" and not np.isfinite(state).all():
            raise InvalidInputError("a saved array must be finite, got NaN or infinity")
        part[...] = state
    elif hasattr(part, "named_parameters"):
        from engram.devices import put  # noqa: PLC0415 (an extra)

        told = from_form(state)
        for name, weight in part.named_parameters():
            put(weight, told[name])
    else:
        part.load_state_dict(from_form(state) if is_foreign(part) else state)


def check_part(part: Any) -> None:
    """Raise InvalidInputError unless everything in the part fits together, where it can tell."""
    if hasattr(part, "check_valid"):
        part.check_valid()
