"""DCT: the low frequencies of stacked frames, what is left of an image when it is blurred.

The discrete cosine transform is computed in whole numbers, with cosines in steps of 1/4096. Whole numbers add up to the
same sum in any order, so a key has the same bits alone, in any batch and on every machine.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from engram.compiling import compiled
from engram.encoders.base import Encoder
from engram.errors import InvalidInputError
from engram.parts import Spaces
from engram.typing import Array, Floats, Ints

STEPS = 4096  # of a cosine, from 0 to 1
LARGEST_SIZE = 512  # frequencies along each side
LARGEST_SIDE = 2**31 // (255 * STEPS) - 1  # pixels whose products 32 bits can sum


@compiled
def transform(frames: Array, rows: Ints, columns: Ints, scale: float, out: Floats) -> None:
    """X_uv = Σ_yx C_uy x_yx C_vx for frames [F, H, W], cosines [size, H] and [size, W]: [F, size · size]."""
    size, height, width = len(rows), frames.shape[1], frames.shape[2]
    partial = np.empty((size, width), np.int32)
    for f in range(len(frames)):
        partial[:] = 0
        for y in range(height):
            for u in range(size):
                cosine = rows[u, y]
                for x in range(width):
                    partial[u, x] += cosine * np.int32(frames[f, y, x])
        for u in range(size):
            for v in range(size):
                total = np.int64(0)
                for x in range(width):
                    total += np.int64(partial[u, x]) * np.int64(columns[v, x])
                out[f, u * size + v] = total * scale


@dataclass
class DCT(Encoder):
    """The `size` × `size` lowest coefficients of the orthonormal DCT-II of every frame, for bytes scaled to [0, 1]."""

    size: int = 5  # frequencies along each side

    name = "dct"

    def __post_init__(self) -> None:
        self.check_whole({"size": (1, LARGEST_SIZE)})

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        """An encoder for images of this shape."""
        shape = spaces.observation_shape
        if (
            len(shape) not in (2, 3)
            or spaces.observation_dtype != np.uint8
            or not (self.size <= min(shape[-2:]) and max(shape[-2:]) <= LARGEST_SIDE)
        ):
            raise InvalidInputError(
                f'encoder "dct" takes images of bytes, [height, width] or [frames, height, width], of {self.size} to '
                f"{LARGEST_SIDE} pixels a side, got shape {shape} of {spaces.observation_dtype}"
            )
        built = type(self)(self.size)
        built.key_size = int(np.prod(shape[:-2])) * self.size**2
        built._set_frame(*shape[-2:])
        return built

    def _set_frame(self, height: int, width: int) -> None:
        self._frame = (height, width)
        self._rows, self._columns = cosines(self.size, height), cosines(self.size, width)

    def __call__(self, observations: Array) -> Floats:
        """[B, …] bytes → [B, key_size]."""
        frames = np.require(observations, np.uint8, ("C", "W")).reshape(-1, *self._frame)
        keys = np.empty((len(frames), self.size**2), np.float32)
        transform(frames, self._rows, self._columns, 1 / (255 * STEPS**2), keys)
        return keys.reshape(len(observations), self.key_size)


def cosines(size: int, side: int) -> Ints:
    """The first rows of the orthonormal DCT-II matrix in steps of 1/4096, [size, side]."""
    frequency, place = np.arange(size)[:, None], np.arange(side)
    matrix = np.sqrt(2 / side) * np.cos(np.pi * frequency * (2 * place + 1) / (2 * side))
    matrix[0] /= np.sqrt(2)
    whole: Ints = np.rint(matrix * STEPS).astype(np.int32)
    return whole
