"""A vector is its own key."""

import numpy as np

from engram.typing import Array, Floats


class Identity:
    """Observation vectors as float32 keys."""

    def __init__(self, size: int) -> None:
        self.key_size = size

    def __call__(self, observations: Array) -> Floats:
        """[B, size] → [B, size], always a copy: an environment may write its next observation over this one."""
        return np.array(observations, np.float32, order="C")
