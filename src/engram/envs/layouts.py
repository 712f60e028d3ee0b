"""Observations that consist of parts, as rows of numbers: one part after the other."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np
from gymnasium import spaces

from engram.envs.given import NUMBERS, as_array
from engram.errors import InvalidInputError
from engram.typing import Array, Floats

Shape = tuple[int, ...]


class Layout(ABC):
    """How observations of a space become rows.

    Attributes:
        width: The numbers of a row.
    """

    width: int

    @abstractmethod
    def rows(self, given: Any, who: str) -> tuple[Floats, bool]:
        """One observation, or several as vector environments give them, as rows [B, width]; and whether it was one.

        `who` names the observations in errors.
        """

    @abstractmethod
    def names(self, part: str = "") -> list[str]:
        """A name for each number of a row; `part` is what the observation is called that this is the layout of."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The layout as plain data, from which `layout_from` makes it again."""


class Numbers(Layout):
    """Numbers as they are."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.width = shape, prod(shape)

    def rows(self, given: Any, who: str) -> tuple[Floats, bool]:
        """All numbers of an observation in a row."""
        rows, single = _in_rows(given, self.shape, who)
        with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused as such
            return rows.astype(np.float32), single

    def names(self, part: str = "") -> list[str]:
        """`lamps[0]`, `lamps[1]`, …; the part's own name for a single number."""
        if not part:
            return [f"number {number}" for number in range(self.width)]
        return [f"{part}{place}" for place in _places(self.shape)]

    def describe(self) -> dict[str, Any]:
        """The shape."""
        return {"numbers": list(self.shape)}


class Choices(Layout):
    """Whole numbers, each of which becomes as many numbers as it has values, of which one is 1."""

    def __init__(self, shape: Shape, counts: list[int], starts: list[int]) -> None:
        self._shape, self._counts, self._starts = shape, counts, starts
        self.width = sum(counts)

    def rows(self, given: Any, who: str) -> tuple[Floats, bool]:
        """Rows of 0 and 1."""
        rows, single = _in_rows(given, self._shape, who)
        return one_hot(rows, np.array(self._counts, np.int64), np.array(self._starts, np.int64), who), single

    def names(self, part: str = "") -> list[str]:
        """`last=0`, `last=1`, …: which value each number stands for."""
        each = zip(_places(self._shape), self._counts, self._starts, strict=True)
        whole = part or "observation"
        return [f"{whole}{place}={start + i}" for place, count, start in each for i in range(count)]

    def describe(self) -> dict[str, Any]:
        """The shape, how many values each number has, and from where on they are counted."""
        return {"choices": self._counts, "starts": self._starts, "shape": list(self._shape)}


class Named(Layout):
    """Parts by name."""

    def __init__(self, parts: dict[Any, Layout]) -> None:
        self._parts, self.width = parts, sum(each.width for each in parts.values())

    def rows(self, given: Any, who: str) -> tuple[Floats, bool]:
        """A dict of observations, or a list of dicts."""
        if isinstance(given, list | tuple) and given and all(isinstance(each, Mapping) for each in given):
            return np.concatenate([self.rows(each, who)[0] for each in given]), False
        if not isinstance(given, Mapping) or not given.keys() >= self._parts.keys():
            raise InvalidInputError(
                f"{who} must be a dict with {', '.join(map(repr, self._parts))}, as the agent's environment gives, "
                f"got {type(given).__name__}: {given!r:.60}…"
            )
        return _joined([each.rows(given[key], f"{who}[{key!r}]") for key, each in self._parts.items()], who)

    def names(self, part: str = "") -> list[str]:
        """Those of the parts, by their keys."""
        prefix = f"{part}." if part else ""
        return [name for key, each in self._parts.items() for name in each.names(f"{prefix}{key}")]

    def describe(self) -> dict[str, Any]:
        """The parts in their order."""
        return {"dict": [[key, each.describe()] for key, each in self._parts.items()]}


class Listed(Layout):
    """Parts in order."""

    def __init__(self, parts: list[Layout]) -> None:
        self._parts, self.width = parts, sum(each.width for each in parts)

    def rows(self, given: Any, who: str) -> tuple[Floats, bool]:
        """A tuple of observations, or a list of tuples. A list of other things is one observation, as from a tuple."""
        if isinstance(given, list) and given and all(isinstance(each, tuple) for each in given):
            return np.concatenate([self.rows(each, who)[0] for each in given]), False
        count = len(self._parts)
        if not isinstance(given, tuple | list) or len(given) != count:
            raise InvalidInputError(f"{who} must be a tuple of {count}, or a list of such tuples, got {given!r:.100}")
        pairs = zip(self._parts, given, strict=True)
        rows, single = _joined([each.rows(part, f"{who}[{n}]") for n, (each, part) in enumerate(pairs)], who)
        if isinstance(given, list) and not single:
            raise InvalidInputError(
                f"{who} must be a tuple of {count}, a list of such tuples for several, or a tuple of {count} arrays as "
                f"vector environments give them; got a list of other things: {given!r:.100}"
            )
        return rows, single

    def names(self, part: str = "") -> list[str]:
        """Those of the parts, by their numbers."""
        whole = part or "observation"
        return [name for number, each in enumerate(self._parts) for name in each.names(f"{whole}[{number}]")]

    def describe(self) -> dict[str, Any]:
        """The parts."""
        return {"tuple": [each.describe() for each in self._parts]}


def _places(shape: Shape) -> list[str]:
    """`[0]`, `[1]`, … or `[0,0]`, `[0,1]`, …; nothing for a single number."""
    return [f"[{','.join(map(str, place))}]" if place else "" for place in np.ndindex(shape)]


def layout_of(space: Any) -> Layout:
    """The layout of observations of a space; InvalidInputError for a space that cannot be made into numbers."""
    if isinstance(space, spaces.Discrete):
        return Choices((), [int(space.n)], [int(space.start)])
    if isinstance(space, spaces.MultiDiscrete):
        return Choices(tuple(space.shape), space.nvec.reshape(-1).tolist(), space.start.reshape(-1).tolist())
    if isinstance(space, spaces.Box | spaces.MultiBinary) and np.dtype(space.dtype).kind in NUMBERS:
        return Numbers(tuple(space.shape))
    if isinstance(space, spaces.Dict):
        return Named({key: _layout_in(key, each) for key, each in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return Listed([_layout_in(number, each) for number, each in enumerate(space.spaces)])
    raise InvalidInputError(
        f"{space!s:.100} cannot be made into numbers; leave it out with gymnasium.wrappers.FilterObservation (on the "
        'command line --wrapper \'FilterObservation?filter_keys=["a","b"]\'), or turn it into numbers in a wrapper of '
        "your own"
    )


def _layout_in(key: Any, space: Any) -> Layout:
    try:
        return layout_of(space)
    except InvalidInputError as error:
        raise InvalidInputError(f"{key!r}: {error}") from None


def layout_from(described: Any) -> Layout:
    """The layout that a file describes; KeyError, TypeError or ValueError for what cannot be."""
    if "numbers" in described:
        return Numbers(_whole(described["numbers"], 0))
    if "choices" in described:
        counts, starts, shape = _whole(described["choices"], 1), _whole(described["starts"]), described["shape"]
        if not len(counts) == len(starts) == prod(_whole(shape, 0)):
            raise ValueError("counts and starts of choices do not fit their shape")
        return Choices(tuple(shape), list(counts), list(starts))
    if "dict" in described:
        return Named({key: layout_from(each) for key, each in described["dict"]})
    return Listed([layout_from(each) for each in described["tuple"]])


def _whole(numbers: Any, lowest: int = -(2**63)) -> Shape:
    if not all(type(number) is int and lowest <= number < 2**63 for number in numbers):
        raise ValueError(f"expected whole numbers from {lowest} on, got {numbers!r:.80}")
    return tuple(numbers)


def _in_rows(given: Any, shape: Shape, who: str) -> tuple[Array, bool]:
    """One observation of this shape, or several, as rows, and whether it was one alone."""
    array = as_array(given, who)
    single = array.shape == shape
    if (not single and array.shape[1:] != shape) or array.dtype.kind not in NUMBERS:
        raise InvalidInputError(
            f"{who} must have shape {shape}, or (batch, …) for several, as the environment gives them; "
            f"got an array of {array.dtype} and shape {array.shape}"
        )
    return array.reshape(1 if single else len(array), prod(shape)), single


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
