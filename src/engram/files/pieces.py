"""Arrays that are made piece by piece as they are written, so that a file needs no second copy of what it holds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from engram.typing import Array


@dataclass(frozen=True)
class Pieces:
    """An array as the pieces that follow each other along its first axis; `make` makes them again at every call."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    make: Callable[[], Iterator[Array]]

    def whole(self) -> Array:
        """The array itself."""
        array = np.empty(self.shape, self.dtype)
        start = 0
        for piece in self.make():
            array[start : start + len(piece)] = piece
            start += len(piece)
        return array
