"""Observations of any space as the arrays that agents see: vectors, and images with their channels first."""

import logging
from collections.abc import Mapping
from math import prod
from multiprocessing import parent_process
from typing import Any

import numpy as np
from gymnasium import spaces

from engram.envs.given import NUMBERS, as_array
from engram.errors import InvalidInputError
from engram.typing import Array, Floats

FLOAT32 = np.dtype(np.float32)
SMALLEST_SIDE = 34  # of a matrix of other numbers than bytes that counts as an image; a smaller one is flattened


_said: set[str] = set()


def say_once(note: str | None) -> None:
    """Tell the user what is done to observations, the first time; the workers of a study say nothing."""
    if note is not None and note not in _said and parent_process() is None:
        _said.add(note)
        logging.getLogger("engram").warning("note: %s", note)


class Form:
    """Observations that agents see as they are: vectors, and images [channels, height, width] or [height, width].

    Attributes:
        shape: Of one observation as the agent sees it.
        dtype: Of its numbers.
        note: What is done to observations, for people to read; None if nothing is.
    """

    note: str | None = None

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)

    @property
    def plain(self) -> bool:
        """Whether observations are left as they are."""
        return self.note is None

    def read(self, given: Any, who: str = "observations") -> tuple[Array, bool]:
        """What the environment gave, or several of them, as an array [B, *shape], and whether it was one alone.

        Arrays that have the agent's form already are taken as they are. `who` names the observations in errors.
        """
        array = as_array(given, who)
        single = array.shape == self.shape
        return (array[None] if single else array), single


class ChannelsFirst(Form):
    """Images [height, width, channels], or stacks of them, as [channels, height, width]."""

    def __init__(self, space: spaces.Box) -> None:
        self._raw = tuple(space.shape)
        *stack, height, width, channels = self._raw
        super().__init__((prod(stack) * channels, height, width), space.dtype)
        self.note = f"images {list(self._raw)} are turned to {list(self.shape)}, channels first"

    def read(self, given: Any, who: str = "observations") -> tuple[Array, bool]:
        """Images as the environment gives them, or turned already."""
        array = as_array(given, who)
        if array.shape == self._raw or array.shape[1:] == self._raw:
            moved = np.moveaxis(array, -1, -3)
            turned = np.empty(moved.shape, moved.dtype)  # with the usual strides also where there is one channel
            turned[...] = moved
            array = turned.reshape(*array.shape[: array.ndim - len(self._raw)], *self.shape)
        return super().read(array, who)


class Flat(Form):
    """Observations of any other kind as vectors of float32: what they consist of, one after the other."""

    def __init__(self, space: Any) -> None:
        self._space = space
        super().__init__((width_of(space),), FLOAT32)
        self.note = f"observations {summary(space):.200} are flattened to vectors of {self.shape[0]} numbers"

    def read(self, given: Any, who: str = "observations") -> tuple[Array, bool]:
        """Observations as the environment gives them, or flattened already."""
        if isinstance(given, np.ndarray) and given.dtype == FLOAT32 and given.ndim <= 2:
            raw = isinstance(self._space, spaces.Box) and self._space.shape in (given.shape, given.shape[1:])
            if given.shape[-1:] == self.shape and not raw:
                return super().read(given, who)
        return rows_of(self._space, given, who)


def form_of(space: Any, name: str) -> Form:
    """How observations of a space are seen; InvalidInputError, naming the environment, for one that cannot be."""
    try:
        return _form_of(space)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name} has the observation space {space!s:.300}: {error}") from None


def _form_of(space: Any) -> Form:
    shape, dtype = tuple(space.shape or ()), np.dtype(space.dtype)
    if not isinstance(space, spaces.Box | spaces.MultiBinary) or len(shape) not in (1, 2, 3, 4):
        return Flat(space)
    numbers = dtype.kind in NUMBERS
    if len(shape) == 1 and numbers:
        return Form(shape, dtype)
    if len(shape) == 2 and numbers and (dtype == np.uint8 or min(shape) >= SMALLEST_SIDE):
        return Form(shape, dtype)
    if len(shape) in (3, 4) and isinstance(space, spaces.Box) and numbers:
        if shape[-1] < min(shape[-3:-1]):
            return ChannelsFirst(space)
        if len(shape) == 3:
            return Form(shape, dtype)
    return Flat(space)


def width_of(space: Any) -> int:
    """The numbers of a flattened observation; InvalidInputError for a space that cannot be flattened."""
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if isinstance(space, spaces.MultiDiscrete):
        return int(np.sum(space.nvec))
    if isinstance(space, spaces.Box | spaces.MultiBinary) and np.dtype(space.dtype).kind in NUMBERS:
        return prod(space.shape)
    if isinstance(space, spaces.Dict):
        return sum(_width_in(key, each) for key, each in space.spaces.items())
    if isinstance(space, spaces.Tuple):
        return sum(_width_in(number, each) for number, each in enumerate(space.spaces))
    raise InvalidInputError(
        f"{space!s:.100} cannot be made into numbers; leave it out with gymnasium.wrappers.FilterObservation (on the "
        'command line --wrapper \'FilterObservation?filter_keys=["a","b"]\'), or turn it into numbers in a wrapper of '
        "your own"
    )


def _width_in(key: Any, space: Any) -> int:
    try:
        return width_of(space)
    except InvalidInputError as error:
        raise InvalidInputError(f"{key!r}: {error}") from None


def summary(space: Any) -> str:
    """A space in a few words, without its limits."""
    if isinstance(space, spaces.Dict):
        return f"Dict({', '.join(f'{key}: {summary(each)}' for key, each in space.spaces.items())})"
    if isinstance(space, spaces.Tuple):
        return f"Tuple({', '.join(summary(each) for each in space.spaces)})"
    return f"Box{list(space.shape)}" if isinstance(space, spaces.Box) else str(space)


def rows_of(space: Any, given: Any, who: str) -> tuple[Floats, bool]:
    """Observations of a space, one alone or a batch as vector environments give it, as rows [B, width].

    A number of a Discrete or MultiDiscrete space becomes as many numbers as it has values, of which one is 1.
    """
    if isinstance(space, spaces.Dict):
        return _rows_of_dict(space, given, who)
    if isinstance(space, spaces.Tuple):
        if not isinstance(given, tuple | list) or len(given) != len(space.spaces):
            raise InvalidInputError(f"{who} must be a tuple of {len(space.spaces)}, got {given!r:.100}")
        pairs = zip(space.spaces, given, strict=True)
        return _joined([rows_of(each, part, f"{who}[{n}]") for n, (each, part) in enumerate(pairs)], who)
    array, shape = as_array(given, who), tuple(space.shape or ())
    single = array.shape == shape
    if (not single and array.shape[1:] != shape) or array.dtype.kind not in NUMBERS:
        raise InvalidInputError(
            f"{who} must have shape {shape}, or (batch, …) for several, as the environment gives them; "
            f"got an array of {array.dtype} and shape {array.shape}"
        )
    rows = array.reshape(1 if single else len(array), -1)
    if isinstance(space, spaces.Discrete):
        return one_hot(rows, np.array([space.n]), np.array([space.start]), who), single
    if isinstance(space, spaces.MultiDiscrete):
        return one_hot(rows, space.nvec.reshape(-1), space.start.reshape(-1), who), single
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as such
        return rows.astype(np.float32), single


def _rows_of_dict(space: spaces.Dict, given: Any, who: str) -> tuple[Floats, bool]:
    if isinstance(given, list | tuple) and given and all(isinstance(each, Mapping) for each in given):
        return np.concatenate([_rows_of_dict(space, each, who)[0] for each in given]), False
    if not isinstance(given, Mapping) or not given.keys() >= space.spaces.keys():
        raise InvalidInputError(f"{who} must be a dict with {', '.join(map(repr, space.spaces))}, got {given!r:.100}")
    return _joined([rows_of(each, given[key], f"{who}[{key!r}]") for key, each in space.spaces.items()], who)


def _joined(parts: list[tuple[Floats, bool]], who: str) -> tuple[Floats, bool]:
    """The rows of all parts side by side."""
    if len({(len(rows), single) for rows, single in parts}) != 1:
        raise InvalidInputError(f"{who} must have parts for one observation, or all for equally many")
    return np.concatenate([rows for rows, _ in parts], axis=1), parts[0][1]


def one_hot(rows: Array, counts: Array, starts: Array, who: str) -> Floats:
    """Whole numbers [B, n], each from its start on and below start + count, as rows [B, sum of counts] of 0 and 1."""
    offsets = rows.astype(np.int64) - starts
    if rows.dtype.kind == "f" or bool(((offsets < 0) | (offsets >= counts)).any()):
        raise InvalidInputError(f"{who} must be whole numbers of the environment's space, got {rows!s:.100}")
    found = np.zeros((len(rows), int(counts.sum())), np.float32)
    places = offsets + (np.cumsum(counts) - counts)
    np.put_along_axis(found, places, 1, axis=1)
    return found
