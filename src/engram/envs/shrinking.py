"""A grey image made smaller: each new pixel is the mean of the area that it covers, as OpenCV's INTER_AREA has it."""

from math import ceil, floor
from typing import NamedTuple

import numpy as np

from engram.compiling import compiled
from engram.typing import Array, Floats, Ints

LEAST_SHARE = 1e-3  # of a pixel, below which it is left out


class Shares(NamedTuple):
    """Which pixels of a line each pixel of a shorter one is made of; the j-th of each stand in row j."""

    of: Ints  # [most, shorter]
    part: Floats  # [most, shorter], which add up to 1; 0 where there are fewer


def shares(length: int, shorter: int) -> Shares:
    """How a line of so many pixels becomes a shorter one."""
    width = 1 / (shorter / length)  # of a new pixel
    most = ceil(width) + 1
    of, part = np.zeros((most, shorter), np.int32), np.zeros((most, shorter), np.float32)
    for new in range(shorter):
        begin, end = new * width, new * width + width
        covered = min(width, length - begin)
        last = min(floor(end), length - 1)
        first = min(ceil(begin), last)
        found = [(old, 1.0) for old in range(first, last)]
        if first - begin > LEAST_SHARE:
            found.insert(0, (first - 1, first - begin))
        if end - last > LEAST_SHARE:
            found.append((last, min(end - last, 1.0, covered)))
        for j, (old, share) in enumerate(found):
            of[j, new], part[j, new] = old, share / covered
    return Shares(of, part)


@compiled
def shrink_line(line: Array, columns: Shares, out: Floats) -> None:
    """Make one line of bytes [width] shorter, [columns], before rounding."""
    out[:] = 0
    for j in range(len(columns.of)):
        of, part = columns.of[j], columns.part[j]
        for x in range(len(out)):
            out[x] += np.float32(line[of[x]]) * part[x]


@compiled
def join_lines(lines: Floats, rows: Shares, y: int, total: Floats, out: Array) -> None:
    """The y-th line of the smaller image, from shortened lines [height, columns]; `total` is room for sums."""
    total[:] = 0
    for i in range(len(rows.of)):
        share = rows.part[i, y]
        if share == 0:
            break
        line = lines[rows.of[i, y]]
        for x in range(len(total)):
            total[x] += share * line[x]
    for x in range(len(total)):
        out[x] = np.uint8(min(np.rint(total[x]), np.float32(255)))
