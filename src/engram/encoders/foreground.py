"""Foreground: where frames differ from their background, counted in cells and projected.

To subtract a fixed background changes no distance between two images. To note only *where* an image differs from it
does: a thing counts by its size rather than by its colour, and a cell that it has left looks as it did before.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from engram.encoders.base import Encoder
from engram.encoders.projection import LARGEST_SIZE, SCALE, drawn_weights
from engram.errors import InvalidInputError
from engram.frames import stacked_frames
from engram.parts import Spaces
from engram.typing import Array, Floats

GREYS = 256
MOST_STEPS = 2**16 - 1  # that 16 bits can count


@dataclass
class Foreground(Encoder):
    """A random projection of the number of foreground pixels in each of `cells` × `cells` cells of every frame.

    A pixel's background is the grey that it had most often in the first `steps` training steps; then it is frozen, and
    saved with the agent. A pixel is foreground where it is more than `threshold` away from it. A frame that is n frames
    old counts fadeⁿ.
    """

    size: int = 128  # numbers in a key
    cells: int = 12  # along each side
    fade: float = 0.5  # weight of a frame against the next newer one, from 0 to 1
    threshold: int = 16  # of 255 greys
    steps: int = 1_000  # training steps whose newest frames make the background

    name = "foreground"

    def __post_init__(self) -> None:
        self.check_whole({"size": (1, LARGEST_SIZE), "cells": (1, LARGEST_SIZE)})
        self.check_numbers({"fade": (0, 1)})
        self.check_whole({"threshold": (0, GREYS - 1), "steps": (1, MOST_STEPS)})

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        """An encoder for images of this shape, before its first observation."""
        shape = spaces.observation_shape
        if (
            len(shape) not in (2, 3)
            or spaces.observation_dtype != np.uint8
            or (len(shape) == 3 and shape[0] != stacked_frames(shape))
            or min(shape[-2:]) < self.cells
        ):
            raise InvalidInputError(
                f'encoder "{self.name}" takes images of bytes, [height, width] or [frames, height, width], of at least '
                f"{self.cells} pixels a side (one for each of its cells), got shape {shape} of "
                f"{spaces.observation_dtype}"
            )
        built = replace(self)
        built.key_size = self.size
        built._set_frames(shape, generator)
        return built

    def _set_frames(self, shape: tuple[int, ...], generator: np.random.Generator) -> None:
        self._stack = (stacked_frames(shape), *shape[-2:])
        frames, height, width = self._stack
        self._rows, self._columns = (np.arange(self.cells) * side // self.cells for side in (height, width))
        fades = self.fade ** np.arange(frames)[::-1, None]
        drawn = [drawn_weights(frames * side**2, self.size, generator).reshape(frames, -1) for side in self._sides()]
        self._weights = np.concatenate([np.rint(each * fades).reshape(-1, self.size) for each in drawn])  # of each cell
        self._scale = self.cells / (SCALE * np.sqrt(self.size * height * width))
        self._background = np.zeros((height, width), np.uint8)
        self._count, self._seen = 0, np.zeros((height * width, GREYS), np.uint16)  # how often each pixel had each grey
        self.settled = False

    def _sides(self) -> list[int]:
        """How many cells there are along each side, for each size of cells."""
        return [self.cells]

    def update(self, observation: Array) -> None:
        """Count the greys of the newest frame, until enough was seen."""
        if self.settled:
            return
        newest = observation.reshape(self._stack)[-1].ravel()
        self._seen[np.arange(len(newest)), newest] += 1
        self._count += 1
        if self._count == self.steps:
            self._settle(self._seen.argmax(1).astype(np.uint8).reshape(self._stack[1:]))

    def _settle(self, background: Array) -> None:
        self._background, self._count, self.settled = background, self.steps, True
        self._seen = np.zeros((0, GREYS), np.uint16)

    def __call__(self, observations: Array) -> Floats:
        """[B, …] bytes → [B, key_size]."""
        keys = np.empty((len(observations), self.size), np.float32)
        for row, observation in enumerate(observations):
            fine = self._counts(observation)
            counts = [coarser(fine, self.cells // side).ravel() for side in self._sides()]
            keys[row] = np.concatenate(counts) @ self._weights * self._scale
        return keys

    def _counts(self, observation: Array) -> Array:
        """Foreground pixels [frames, cells, cells]; as whole numbers, sums of them are exact in any order."""
        away = np.abs(observation.reshape(self._stack).astype(np.int16) - self._background)
        rows = np.add.reduceat((away > self.threshold).astype(np.float64), self._rows, axis=1)
        return np.add.reduceat(rows, self._columns, axis=2)

    def state_dict(self) -> dict[str, Any]:
        """The background or, before it is known, what was counted so far."""
        if self.settled:
            return {"count": self._count, "background": self._background.copy()}
        return {"count": self._count, "seen": self._seen.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        count, frame = state["count"], self._stack[1:]
        if type(count) is not int or not 0 <= count <= self.steps:
            raise InvalidInputError(
                f"the {self.name} encoder must have counted 0 to {self.steps} frames, got {count!r:.40}"
            )
        array, shape, dtype = (
            (state["background"], frame, np.uint8)
            if count == self.steps
            else (state["seen"], (frame[0] * frame[1], GREYS), np.uint16)
        )
        if array.shape != shape or array.dtype != dtype:
            raise InvalidInputError(f"what the {self.name} encoder has seen must be {np.dtype(dtype)} of shape {shape}")
        if count == self.steps:
            self._settle(array.copy())
        elif (array.sum(1) == count).all():
            self._count, self._seen, self.settled = count, array.copy(), False
        else:
            raise InvalidInputError(f"the {self.name} encoder must have counted {count} greys of every pixel")


def coarser(counts: Array, times: int) -> Array:
    """Counts in cells that are so many times as large along each side, which divides the number of cells."""
    frames, side = counts.shape[0], counts.shape[1] // times
    return counts if times == 1 else counts.reshape(frames, side, times, side, times).sum((2, 4))
