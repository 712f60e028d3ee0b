"""Identity: a vector is its own key."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from engram.encoders.base import Encoder
from engram.parts import Spaces
from engram.typing import Array, Floats


@dataclass
class Identity(Encoder):
    """Observations as float32 keys; an image is flattened."""

    name = "identity"

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        """An encoder for observations of this shape."""
        built = type(self)()
        built.key_size = int(np.prod(spaces.observation_shape))
        return built

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, key_size], always a copy: an environment may write its next observation over this one."""
        keys = np.array(observations, np.float32, order="C")
        return keys if keys.ndim == 2 else keys.reshape(len(keys), self.key_size)
