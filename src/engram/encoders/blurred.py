"""Blurred: a random projection with smooth weights, in which a thing that moves a little is near to where it was."""

from dataclasses import dataclass

import numpy as np

from engram.encoders.projection import LARGEST_WEIGHT, Projection, drawn_weights
from engram.typing import Array, Doubles

LARGEST_BLOCK = 64  # pixels


@dataclass
class Blurred(Projection):
    """Keys of `size` numbers whose weights are drawn at every `block`-th pixel and interpolated between these.

    That is a projection of blurred frames. The weights of a frame that is n frames old are multiplied by fadeⁿ. Of
    colours beside each other, each has weights of its own.
    """

    block: int = 4  # pixels from one drawn weight to the next; 1: no blur
    fade: float = 1.0  # weight of a frame against the next newer one, from 0 to 1

    name = "blurred"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_whole({"block": (1, LARGEST_BLOCK)})
        self.check_numbers({"fade": (0, 1)})

    def _draw_weights(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Weights on a grid, interpolated in both directions; for a block that changes as a whole |x| is kept."""
        height, width, *colours = shape[1:] if len(shape) == 3 and shape[0] == self._frames else shape
        across, down = interpolation(width, self.block), interpolation(height, self.block)
        numbers = int(np.prod(colours)) * self.size  # of a pixel
        weights = np.empty((self._frames, self._pixels, self.size), np.int16)
        for place in range(self._frames):
            grid = drawn_weights(down.shape[1] * across.shape[1], numbers, generator).astype(np.float64)
            rows = down @ grid.reshape(down.shape[1], -1)  # whole numbers: the same in any order of adding
            smooth = across @ rows.reshape(height, across.shape[1], numbers)  # [height, width, numbers]
            whole = np.rint(smooth * (self.fade ** (self._frames - 1 - place) / self.block**3))
            weights[place] = np.clip(whole, -LARGEST_WEIGHT, LARGEST_WEIGHT).reshape(self._pixels, self.size)
        return weights


def interpolation(side: int, block: int) -> Doubles:
    """How much of each weight of a grid a pixel has, in steps of 1/block, [side, grid]: linear between two."""
    pixel, grid = np.arange(side)[:, None], np.arange(-(-side // block) + 1)
    parts: Doubles = np.maximum(block - np.abs(pixel - grid * block), 0).astype(np.float64)
    return parts
