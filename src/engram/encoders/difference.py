"""Differences: a random projection of the newest frame and of how each frame differs from the one before it."""

from dataclasses import dataclass

import numpy as np

from engram.encoders.projection import LARGEST_WEIGHT, Projection, drawn_weights
from engram.typing import Array


@dataclass
class Difference(Projection):
    """Keys of `size` numbers that keep |x_F|² + w² Σⱼ |xⱼ₊₁ − xⱼ|² for frames x₁ … x_F, on average.

    In a plain projection whatever stands still counts once in every frame, and so more than what moves. As a projection
    is linear, that of a difference is the difference of two: so this is a projection with other weights.
    """

    weight: float = 1.0  # w, of differences against the newest frame, from 0 to 1

    name = "difference"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_numbers({"weight": (0, 1)})

    def _draw_weights(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """N(0, 1) for the newest frame; for each difference, w N(0, 1) at one place and its negative before it."""
        drawn = drawn_weights(int(np.prod(shape)), self.size, generator)
        newest, *changes = drawn.reshape(self._frames, self._pixels, self.size).astype(np.float32)
        weights = np.zeros((self._frames, self._pixels, self.size), np.float32)
        weights[-1] = newest
        for place, change in enumerate(changes):
            weights[place + 1] += self.weight * change
            weights[place] -= self.weight * change
        return np.clip(np.rint(weights), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int16)
