"""A Gaussian random projection of images: distances survive it, on average, and keys become short."""

import numpy as np

from engram.compiling import compiled
from engram.typing import Array, Floats

SCALE = 2**11  # weights are whole numbers: N(0, 1) in steps of 1/2048


@compiled
def project(images: Array, weights: Array, out: Floats, scale: float) -> None:
    """Keys of flat byte images [B, pixels] under integer weights [pixels, keys].

    Whole numbers add up to the same sum in any order, so a key has the same bits alone, in a batch and on
    every machine.
    """
    sums = np.empty(weights.shape[1], np.int64)
    for b in range(len(images)):
        sums[:] = 0
        for pixel in range(images.shape[1]):
            value = np.int64(images[b, pixel])
            if value != 0:
                row = weights[pixel]
                for i in range(len(sums)):
                    sums[i] += value * row[i]
        for i in range(len(sums)):
            out[b, i] = sums[i] * scale


class GaussianProjection:
    """Byte images to keys of `key_size` numbers, scaled so that distances are those between images in [0, 1]."""

    def __init__(self, pixels: int, key_size: int, rng: np.random.Generator) -> None:
        self.key_size = key_size
        self._weights = np.rint(rng.standard_normal((pixels, key_size)) * SCALE).astype(np.int32)
        self._scale = 1 / (255 * SCALE * np.sqrt(key_size))

    def __call__(self, observations: Array) -> Floats:
        """[B, …] bytes → [B, key_size]."""
        images = np.ascontiguousarray(observations).reshape(len(observations), -1)
        keys = np.empty((len(images), self.key_size), np.float32)
        project(images, self._weights, keys, self._scale)
        return keys
