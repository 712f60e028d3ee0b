"""A Gaussian random projection of images: distances survive it, on average, and keys become short.

Weights are whole numbers, and whole numbers add up to the same sum in any order. So a key has the same bits alone, in
a batch and on every machine, and it can be had from the image before it: where a pixel changed by x, x times the
pixel's weights is added. Of an Atari game a few hundred pixels change from one frame to the next, of 28,224 in a stack.
"""

from dataclasses import dataclass, replace
from typing import Self, cast

import numpy as np

from engram import checks
from engram.compiling import compiled
from engram.encoders.base import Encoder
from engram.errors import InvalidInputError
from engram.frames import stacked_frames
from engram.parts import Spaces
from engram.typing import Array, Floats

SCALE = 2**11  # weights are N(0, 1) in steps of 1/2048
LARGEST_WEIGHT = 2**14  # eight standard deviations; what is further out is cut off
FLUSH_PIXELS = 2**31 // (255 * LARGEST_WEIGHT) - 1  # whose products 32 bits can sum
MOST_REMEMBERED = 32  # rows of a batch whose last frames are kept: 45 kB each for Atari
WORD = 8  # bytes that are compared at once
LARGEST_SIZE = 4096  # numbers in a key
DRAWN = 2**20  # weights that are drawn at once


@compiled
def add_change(sums: Array, old: Array, new: Array, weights: Array, part: Array) -> None:
    """Bring the sums [keys] of a frame to those of another: Σ (new − old) · weights [pixels, keys].

    `part` [keys] takes up products in 32 bits, until that many would be too many.
    """
    old_words, new_words = old.view(np.uint64), new.view(np.uint64)
    count = 0
    for word in range(len(old_words)):
        if old_words[word] == new_words[word]:
            continue
        for pixel in range(word * WORD, (word + 1) * WORD):
            change = np.int32(new[pixel]) - np.int32(old[pixel])
            if change == 0:
                continue
            row = weights[pixel]
            for i in range(len(part)):
                part[i] += change * np.int32(row[i])
            count += 1
            if count == FLUSH_PIXELS:
                flush(sums, part)
                count = 0
    if count > 0:
        flush(sums, part)


@compiled
def flush(sums: Array, part: Array) -> None:
    """Add what was taken up to the sums."""
    for i in range(len(sums)):
        sums[i] += part[i]
        part[i] = 0


@compiled
def project(stacks: Array, weights: Array, seen: Array, sums: Array, out: Floats, scale: float) -> None:
    """Keys [B, keys] of stacked frames [B, frames, pixels], each from the stack that its row had before.

    A stack moves on by one frame at a time, and a frame's weights depend on its place in the stack. So of each
    frame seen [B, frames, pixels] the sums at every place are kept, [B, frames, frames · keys]: the frame that was at
    place j + 1 is the one to begin from at place j.
    """
    frames, keys = stacks.shape[1], out.shape[1]
    part = np.zeros(frames * keys, np.int32)
    for b in range(len(stacks)):
        for j in range(frames):
            before = min(j + 1, frames - 1)
            if before != j:
                sums[b, j] = sums[b, before]
            add_change(sums[b, j], seen[b, before], stacks[b, j], weights, part)
            seen[b, j] = stacks[b, j]
        for i in range(keys):
            total = np.int64(0)
            for j in range(frames):
                total += sums[b, j, j * keys + i]
            out[b, i] = total * scale


@dataclass
class Projection(Encoder):
    """Images to keys of `size` numbers, which keep distances; bytes are scaled to [0, 1], other numbers are not.

    It remembers the frames that it last saw in each row of a batch, which makes it faster and changes nothing in what
    comes out. A longer batch is encoded in pieces.
    """

    size: int = 128  # numbers in a key

    name = "projection"
    _bytes = True  # whether images are of bytes; set by `build`

    def __post_init__(self) -> None:
        self.check_whole({"size": (1, LARGEST_SIZE)})

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        """An encoder for images of this shape, with weights drawn by the generator."""
        shape = spaces.observation_shape
        if len(shape) not in (2, 3):
            raise InvalidInputError(
                f'encoder "{self.name}" takes images, got shape {shape} of {spaces.observation_dtype}; vectors '
                'are their own keys: encoder="identity"'
            )
        built = replace(self)
        built._bytes = spaces.observation_dtype == np.uint8
        built.key_size = self.size
        built._draw(shape, generator)
        return built

    def _draw(self, shape: tuple[int, ...], generator: np.random.Generator) -> None:
        self._frames = stacked_frames(shape)
        pixels = int(np.prod(shape))
        self._pixels = pixels // self._frames  # of a frame
        self._padding = -self._pixels % WORD
        checks.room(
            6 * pixels * self.size,
            f"a projection of {pixels:,} pixels to keys of {self.size:,} numbers",
            lambda _: "choose a smaller size of keys (projection_size)",
        )
        by_place = self._draw_weights(shape, generator).transpose(1, 0, 2)
        padded = np.pad(by_place, ((0, self._padding), (0, 0), (0, 0)))
        self._weights = np.ascontiguousarray(padded).reshape(-1, self._frames * self.size)  # [pixels, frames · keys]
        if not self._bytes:
            self._places = self._weights.reshape(-1, self._frames, self.size).transpose(1, 0, 2).astype(np.float64)
        self._scale = 1 / (255 * SCALE * np.sqrt(self.size))
        self._seen = np.zeros((0, self._frames, self._pixels + self._padding), np.uint8)
        self._sums = np.zeros((0, self._frames, self._frames * self.size), np.int64)

    def _draw_weights(self, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
        """Weights of the pixels at every place in the stack, [frames, pixels, keys]: N(0, 1) in steps of 1/2048."""
        return drawn_weights(int(np.prod(shape)), self.size, generator).reshape(self._frames, self._pixels, self.size)

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, key_size]."""
        count = len(observations)
        keys = np.empty((count, self.size), np.float32)
        if not self._bytes:
            for row, observation in enumerate(
                observations
            ):  # one by one: the rounding of a product depends on its shape
                keys[row] = self._project_numbers(observation)
            return keys
        for begin in range(0, count, MOST_REMEMBERED):
            self._project(observations[begin : begin + MOST_REMEMBERED], keys[begin : begin + MOST_REMEMBERED])
        return keys

    def _project_numbers(self, observation: Array) -> Floats:
        """The key of an image of other numbers than bytes, which are taken as they are."""
        frames = np.zeros((self._frames, self._pixels + self._padding))
        frames[:, : self._pixels] = observation.reshape(self._frames, self._pixels)
        products = [frame @ self._places[place] for place, frame in enumerate(frames)]
        return cast(Floats, (np.sum(products, axis=0) * (255 * self._scale)).astype(np.float32))

    def _project(self, observations: Array, keys: Floats) -> None:
        """Keys of as many observations as there are rows to remember."""
        count = len(observations)
        if count > len(self._seen):
            more = ((0, count - len(self._seen)), (0, 0), (0, 0))
            self._seen, self._sums = np.pad(self._seen, more), np.pad(self._sums, more)
        stacks = np.require(observations, np.uint8, ("C", "W")).reshape(count, self._frames, self._pixels)
        if self._padding:
            stacks = np.pad(stacks, ((0, 0), (0, 0), (0, self._padding)))
        project(stacks, self._weights, self._seen, self._sums, keys, self._scale)


def drawn_weights(pixels: int, size: int, generator: np.random.Generator) -> Array:
    """N(0, 1) in steps of 1/2048, [pixels, size], drawn in pieces so that it takes little more memory than it gives."""
    weights = np.empty((pixels, size), np.int16)
    for begin in range(0, pixels, max(1, DRAWN // size)):
        part = weights[begin : begin + max(1, DRAWN // size)]
        drawn = np.rint(generator.standard_normal(part.shape) * SCALE)
        part[:] = np.clip(drawn, -LARGEST_WEIGHT, LARGEST_WEIGHT)
    return weights
