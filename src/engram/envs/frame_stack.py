"""What an agent sees of an Atari game: stacked grey frames, each with the larger pixels of a step's last two.

From one step to the next most lines of a screen stay as they are. Only those that change are made smaller again.
"""

from typing import NamedTuple

import numpy as np

from engram.compiling import compiled
from engram.envs.shrinking import Shares, join_lines, shares, shrink_line
from engram.typing import Array, Floats

COMBINED = 2  # frames, of which an observation has the larger pixels


class Shrunk(NamedTuple):
    """The last frame at its full size, and what was made of it."""

    seen: Array  # [height, width]
    lines: Floats  # [height, size], each shortened
    changed: Array  # bool [height], by the newest frame


class FrameStack:
    """The last frames, made smaller, and room for the two that the next one is made of.

    Args:
        screen: Height and width of the emulator's screen.
        size: Pixels along each side of a smaller frame.
        frames: How many are stacked.
    """

    def __init__(self, screen: tuple[int, int], size: int, frames: int) -> None:
        height, _ = screen
        self.grey = np.zeros((COMBINED, *screen), np.uint8)  # the last frame first
        self._rows, self._columns = (shares(length, size) for length in screen)
        lines = np.zeros((height, size), np.float32)
        self._shrunk = Shrunk(np.zeros(screen, np.uint8), lines, np.zeros(height, np.bool_))
        self._stack = np.zeros((frames, size, size), np.uint8)

    def clear(self) -> None:
        """Begin with black frames."""
        self._stack[:] = self.grey[:] = self._shrunk.seen[:] = 0
        self._shrunk.lines[:] = 0

    def push(self) -> Array:
        """The observation after a step, [frames, size, size]; the larger grey pixels stay in the last frame."""
        push(self.grey, self._rows, self._columns, self._shrunk, self._stack)
        return self._stack.copy()


@compiled
def push(grey: Array, rows: Shares, columns: Shares, shrunk: Shrunk, stack: Array) -> None:
    """Put the larger pixels of two frames [2, height, width], made smaller, at the end of a stack."""
    last, before = grey
    seen, lines, changed = shrunk
    for y in range(len(last)):
        different = np.uint8(0)
        for x in range(last.shape[1]):
            larger = max(last[y, x], before[y, x])
            different |= larger ^ seen[y, x]
            last[y, x] = seen[y, x] = larger
        changed[y] = different != 0
        if changed[y]:
            shrink_line(last[y], columns, lines[y])
    stack[:-1] = stack[1:].copy()  # the newest frame is still the one before
    total = np.empty(stack.shape[2], np.float32)
    for y in range(stack.shape[1]):
        for i in range(len(rows.of)):
            if rows.part[i, y] != 0 and changed[rows.of[i, y]]:
                join_lines(lines, rows, y, total, stack[-1, y])
                break
