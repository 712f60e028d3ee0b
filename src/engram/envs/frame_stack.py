"""What an agent sees of an Atari game: stacked grey frames, each with the larger pixels of a step's last two."""

import numpy as np

from engram.compiling import compiled
from engram.envs.shrinking import Shares, shares, shrink
from engram.typing import Array

COMBINED = 2  # frames, of which an observation has the larger pixels


class FrameStack:
    """The last frames, made smaller, and room for the two that the next one is made of.

    Args:
        screen: Height and width of the emulator's screen.
        size: Pixels along each side of a smaller frame.
        frames: How many are stacked.
    """

    def __init__(self, screen: tuple[int, int], size: int, frames: int) -> None:
        self.grey = np.zeros((COMBINED, *screen), np.uint8)  # the last frame first
        self._rows, self._columns = (shares(length, size) for length in screen)
        self._stack = np.zeros((frames, size, size), np.uint8)

    def clear(self) -> None:
        """Begin with black frames."""
        self._stack[:] = self.grey[:] = 0

    def push(self) -> Array:
        """The observation after a step, [frames, size, size]; the larger grey pixels stay in the last frame."""
        push(self.grey, self._rows, self._columns, self._stack)
        return self._stack.copy()


@compiled
def push(grey: Array, rows: Shares, columns: Shares, stack: Array) -> None:
    """Put the larger pixels of two frames [2, height, width], made smaller, at the end of a stack."""
    last, before = grey
    for y in range(last.shape[0]):
        for x in range(last.shape[1]):
            last[y, x] = max(last[y, x], before[y, x])
    stack[:-1] = stack[1:].copy()
    shrink(last, rows, columns, stack[-1])
