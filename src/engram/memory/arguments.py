"""What is handed to a memory, as arrays that kernels can take: of the right type and shape, aligned, within limits.

Kernels trust what passed here. Numbers of a key are at most `KEY_LIMIT` in size, so that squared distances of keys of
up to `WIDEST` numbers are finite in float32, and a search finds as many entries as there are.
"""

from typing import Any

import numpy as np

from engram import checks
from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.typing import Array, Doubles, Floats, Longs, States

KEY_LIMIT = 1e15  # of each number of a key
WIDEST = 10**7  # numbers of a key: (2 · 10¹⁵)² · 10⁷ is 4 · 10³⁷, a tenth of the largest float32
REAL, WHOLE = "biuf", "iu"  # kinds of dtypes
FLOAT, DOUBLE, LONG, STATE = (np.dtype(kind) for kind in (np.float32, np.float64, np.int64, np.uint64))


def as_floats(name: str, numbers: Any) -> Floats:
    """Any real numbers, torch's too, as a writable, contiguous array of float32."""
    return as_array(name, numbers, FLOAT, REAL)


def as_longs(name: str, numbers: Any) -> Longs:
    """Any whole numbers as a contiguous array of int64."""
    return as_array(name, numbers, LONG, WHOLE)


def as_states(numbers: Any) -> States:
    """Whole numbers from 0 to 2⁶⁴ − 1, which name states, as a contiguous array of uint64."""
    states = as_array("states", numbers, STATE, WHOLE)
    if states is not numbers and states.size and states.max() >= 2**63 and (given_array(numbers) < 0).any():
        raise InvalidInputError(f"states must be whole numbers from 0 to 2**64 - 1, got {checks.shown(numbers)}")
    return states


def as_array(name: str, numbers: Any, dtype: np.dtype[Any], kinds: str) -> Array:
    """Numbers of one of these kinds as a writable, contiguous, aligned array of a dtype."""
    if type(numbers) is np.ndarray and numbers.dtype is dtype and numbers.flags.carray:
        return numbers
    try:
        given = given_array(numbers)
        if given.size == 0:  # an empty list is one of float64
            given = np.empty(given.shape, dtype)
        if given.dtype.kind not in kinds:
            raise TypeError(f"of dtype {given.dtype}")
        needed = given.size * dtype.itemsize
        if needed > checks.LARGE:
            checks.room(needed, f"{name} of shape {given.shape}", lambda _: "hand over fewer at a time")
        with np.errstate(over="ignore"):  # what does not fit becomes infinite, and is refused as such
            array = np.ascontiguousarray(given, dtype)
    except InvalidInputError:
        raise
    except Exception as error:  # whatever converting an object of any class may raise
        expected = "real numbers" if "f" in kinds else "whole numbers"
        raise InvalidInputError(f"{name} must be {expected}, got {checks.shown(numbers)} ({error})") from None
    return array if array.flags.carray else array.copy()


def given_array(numbers: Any) -> Array:
    """What was given as an array of NumPy; a tensor of short floats, which NumPy has no types for, as float32."""
    if not hasattr(numbers, "detach"):
        return np.asarray(numbers)
    tensor = numbers.detach().cpu()
    return np.asarray(tensor.float() if tensor.is_floating_point() and tensor.element_size() < 4 else tensor)


def as_returns(given: Any, count: int, *, needed_by: str) -> Doubles:
    """The returns of episodes as float64, one for each of `count` states or one for all; NaN stands for not known."""
    returns: Doubles = as_array("episode_return", given, DOUBLE, REAL)  # a number alone is [1]
    if returns.shape not in ((1,), (count,)):
        raise InvalidInputError(f"episode_return must be a number or have shape ({count},), got {returns.shape}")
    if count and (np.isinf(returns).any() or (needed_by and np.isnan(returns).any())):
        raise InvalidInputError(
            f"episode_return must be finite{f' for the strategy {needed_by}' if needed_by else ''}, got "
            f"{checks.shown(given)}; pass memory.write(..., episode_return=...)"
        )
    return returns


def check_shape(name: str, array: Array, expected: tuple[int, ...], why: str) -> None:
    """Raise InvalidInputError unless an array has the expected shape."""
    if array.shape != expected:
        raise InvalidInputError(f"{name} must have shape {expected} {why}, got {array.shape}")


def check_range(name: str, numbers: Longs, highest: int) -> None:
    """Raise InvalidInputError unless all numbers are from 0 to the highest."""
    if numbers.size and not (numbers.min() >= 0 and numbers.max() <= highest):
        raise InvalidInputError(f"{name} must be from 0 to {highest}, got {checks.shown(numbers)}")


def check_finite(name: str, numbers: Floats) -> None:
    """Raise InvalidInputError unless all numbers are finite."""
    if not np.isfinite(numbers).all():
        raise InvalidInputError(f"{name} must be finite, got NaN or infinity (float32 ends at 3.4e38)")


def check_keys(keys: Floats) -> None:
    """Raise InvalidInputError unless keys [B, dims] can be searched and stored."""
    if not all_usable(keys):
        refuse_keys(keys)


def refuse_keys(keys: Floats) -> None:
    """Raise InvalidInputError for keys that cannot be used, saying what is wrong with them."""
    if np.isfinite(keys).all():
        raise InvalidInputError(
            f"keys must be from -{KEY_LIMIT:g} to {KEY_LIMIT:g}, so that squared distances do not overflow, got "
            f"{keys[np.abs(keys) > KEY_LIMIT][0]:g}; scale the observations"
        )
    raise InvalidInputError("keys contain NaN or infinity; check the observations they were made from")


@compiled
def all_finite(numbers: Doubles) -> bool:
    """Whether no number is NaN or infinite."""
    wrong = 0  # counted without branches, so that the loop is vectorised
    for i in range(len(numbers)):
        wrong += int(not np.isfinite(numbers[i]))
    return wrong == 0


@compiled
def all_usable(keys: Floats) -> bool:
    """Whether no number of a batch [B, dims] is NaN or beyond the limit of keys."""
    for b in range(len(keys)):
        for dim in range(keys.shape[1]):
            if not abs(keys[b, dim]) <= KEY_LIMIT:
                return False
    return True
