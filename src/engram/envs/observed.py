"""Observations at the door: whoever gives them, they are finite numbers in the environment's own shape and dtype."""

from typing import Any, NoReturn

import numpy as np

from engram import checks
from engram.compiling import compiled
from engram.envs.given import NUMBERS, as_array
from engram.errors import InvalidInputError
from engram.typing import Array

LARGEST = np.float64(np.finfo(np.float32).max)  # keys and networks hold float32; beside float16 no infinity
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


@compiled
def all_usable(array: Array) -> bool:
    """Whether a vector of floats holds only numbers that float32 can hold: no NaN, no infinity."""
    for value in array:  # noqa: SIM110 (a loop is what compiles)
        if not abs(value) <= LARGEST:
            return False
    return True


def is_usable(array: Array) -> bool:
    """Whether an array of any shape and kind of numbers holds only what float32 can hold."""
    dtype = array.dtype
    if dtype is FLOAT32 or dtype is FLOAT64:
        flat = array if array.ndim == 1 else array.reshape(-1)
        if flat.flags.carray:
            return all_usable(flat)
    elif dtype.kind != "f":
        return True
    with np.errstate(all="ignore"):
        return bool((np.abs(array) <= LARGEST).all())


def as_numbers(given: Array, dtype: np.dtype[Any], who: str) -> Array:
    """Numbers as an array of this dtype; InvalidInputError, naming who gave them, where it cannot hold them."""
    if given.dtype.kind not in NUMBERS:
        raise InvalidInputError(f"{who} must consist of numbers of dtype {dtype}, got an array of {given.dtype}")
    with np.errstate(all="ignore"):
        converted: Array = given.astype(dtype)
    if dtype.kind != "f" and not np.array_equal(converted, given):
        raise InvalidInputError(
            f"{who} must consist of numbers that {dtype} can hold exactly, got others of {given.dtype}: {given!s:.100}"
        )
    return converted


def refuse(array: Array, who: str) -> NoReturn:
    """Raise InvalidInputError, naming who gave them, for observations with NaN, infinity or too large a number."""
    raise InvalidInputError(
        f"{who} must be finite, got NaN, infinity or a number too large for float32: {array!s:.200}; "
        "check the environment, or wrap it so that observations are finite"
    )


def as_batch(given: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """A batch of observations that a user gave, [B, *shape], in order and writable; or what is wrong with it."""
    array = as_array(given, "observations")
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        raise InvalidInputError(
            f"observations must have shape (batch, {', '.join(map(str, shape))}), got {array.shape}; "
            "one alone is a batch of one: observation[None]"
        )
    checks.room(
        2 * array.size * max(array.itemsize, dtype.itemsize),
        f"a batch of {len(array):,} observations",
        lambda free: "hand in smaller batches",
    )
    batch = array if array.dtype == dtype else as_numbers(array, dtype, "observations")
    if not is_usable(batch):
        refuse(batch, "observations")
    return batch if batch.flags.carray else batch.copy()
