"""Observations of any space as the arrays that agents see: vectors, and images with their channels first."""

import json
import logging
from math import prod
from multiprocessing import parent_process
from typing import Any

import numpy as np
from gymnasium import spaces

from engram.envs.given import NUMBERS, as_array
from engram.envs.layouts import Layout, Numbers, layout_from, layout_of
from engram.errors import InvalidInputError
from engram.typing import Array

FLOAT32 = np.dtype(np.float32)
SMALLEST_SIDE = 34  # of a matrix of other numbers than bytes that counts as an image; a smaller one is flattened
MOST_NUMBERS = 2**24  # in an observation


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
        if prod(shape) > MOST_NUMBERS:
            raise InvalidInputError(
                f"an observation must be of at most {MOST_NUMBERS:,} numbers, got one of {prod(shape):,}; make it "
                "smaller with a wrapper, such as ResizeObservation, or stack fewer of them"
            )
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

    def describe(self) -> dict[str, Any] | None:
        """What the environment's observations are, as plain data, from which `form_from` makes the form again.

        None where they are left as they are, or where their parts have other names than texts and whole numbers.
        """
        return None


class ChannelsFirst(Form):
    """Images [height, width, channels], or stacks of them, as [channels, height, width]."""

    def __init__(self, raw: tuple[int, ...], dtype: Any) -> None:
        self._raw = raw
        *stack, height, width, channels = raw
        super().__init__((prod(stack) * channels, height, width), dtype)
        self.note = f"images {list(raw)} are turned to {list(self.shape)}, channels first"

    def read(self, given: Any, who: str = "observations") -> tuple[Array, bool]:
        """Images as the environment gives them, or turned already."""
        array = as_array(given, who)
        if array.shape == self._raw or array.shape[1:] == self._raw:
            moved = np.moveaxis(array, -1, -3)
            turned = np.empty(moved.shape, moved.dtype)  # with the usual strides also where there is one channel
            turned[...] = moved
            array = turned.reshape(*array.shape[: array.ndim - len(self._raw)], *self.shape)
        return super().read(array, who)

    def describe(self) -> dict[str, Any]:
        """The shape of the environment's images."""
        return {"images": list(self._raw)}


class Flat(Form):
    """Observations of any other kind as vectors of float32: what they consist of, one after the other."""

    def __init__(self, layout: Layout, words: str) -> None:
        self._layout = layout
        super().__init__((layout.width,), FLOAT32)
        self.note = f"observations {words:.200} are flattened to vectors of {layout.width} numbers"

    def read(self, given: Any, who: str = "observations") -> tuple[Array, bool]:
        """Observations as the environment gives them, or flattened already."""
        if isinstance(given, np.ndarray) and given.dtype == FLOAT32 and given.ndim <= 2:
            raw = isinstance(self._layout, Numbers) and self._layout.shape in (given.shape, given.shape[1:])
            if given.shape[-1:] == self.shape and not raw:
                return super().read(given, who)
        return self._layout.rows(given, who)

    def describe(self) -> dict[str, Any] | None:
        """The layout."""
        described = {"flat": self._layout.describe()}
        try:
            return described if json.loads(json.dumps(described)) == described else None
        except TypeError:
            return None


def form_of(space: Any, name: str) -> Form:
    """How observations of a space are seen; InvalidInputError, naming the environment, for one that cannot be."""
    try:
        return _form_of(space)
    except InvalidInputError as error:
        raise InvalidInputError(f"{name} has the observation space {summary(space):.300}: {error}") from None


def _form_of(space: Any) -> Form:
    shape, dtype = tuple(space.shape or ()), np.dtype(space.dtype)
    if not isinstance(space, spaces.Box | spaces.MultiBinary) or len(shape) not in (1, 2, 3, 4):
        return Flat(layout_of(space), summary(space))
    numbers = dtype.kind in NUMBERS
    if len(shape) == 1 and numbers:
        return Form(shape, dtype)
    if len(shape) == 2 and numbers and (dtype == np.uint8 or min(shape) >= SMALLEST_SIDE):
        return Form(shape, dtype)
    if len(shape) in (3, 4) and isinstance(space, spaces.Box) and numbers:
        if shape[-1] < min(shape[-3:-1]):
            return ChannelsFirst(shape, dtype)
        if len(shape) == 3:
            return Form(shape, dtype)
    return Flat(layout_of(space), summary(space))


def form_from(described: Any, dtype: Any) -> Form:
    """The form that a file describes; KeyError, TypeError or ValueError for what cannot be."""
    if "flat" in described:
        return Flat(layout_from(described["flat"]), "as the file describes them")
    raw = described["images"]
    if not (3 <= len(raw) <= 4 and all(type(side) is int and side > 0 for side in raw)):
        raise ValueError(f"images of shape {raw!r:.80} cannot be")
    return ChannelsFirst(tuple(raw), dtype)


def summary(space: Any) -> str:
    """A space in a few words, without its limits."""
    if isinstance(space, spaces.Dict):
        return f"Dict({', '.join(f'{key}: {summary(each)}' for key, each in space.spaces.items())})"
    if isinstance(space, spaces.Tuple):
        return f"Tuple({', '.join(summary(each) for each in space.spaces)})"
    return f"Box{list(space.shape)}" if isinstance(space, spaces.Box) else str(space)
