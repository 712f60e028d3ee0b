"""Smaller images beside OpenCV's."""

import cv2
import numpy as np
import pytest

from engram.envs.shrinking import Shares, join_lines, shares, shrink_line
from engram.typing import Array


def shrunk(image: Array, rows: Shares, columns: Shares) -> Array:
    lines = np.full((len(image), columns.of.shape[1]), 99, np.float32)
    found = np.full((rows.of.shape[1], columns.of.shape[1]), 99, np.uint8)
    for y, line in enumerate(image):
        shrink_line(line, columns, lines[y])
    for y, line in enumerate(found):
        join_lines(lines, rows, y, np.empty(len(line), np.float32), line)
    return found


@pytest.mark.parametrize("height", [210, 250])
@pytest.mark.parametrize("size", [1, 7, 10, 42, 80, 84, 100, 159, 160])
def test_bytes_are_opencvs(height: int, size: int) -> None:
    rng = np.random.default_rng(size)
    rows, columns = shares(height, size), shares(160, size)
    for most in (256, 2):
        image = (rng.integers(most, size=(height, 160)) * (255 // (most - 1))).astype(np.uint8)
        found = shrunk(image, rows, columns)
        expected = cv2.resize(image, (size, size), interpolation=cv2.INTER_AREA)
        whole = height % size == 0 == 160 % size  # pixels are covered as a whole: OpenCV adds them in another order
        np.testing.assert_allclose(found.astype(int), expected.astype(int), atol=1 if whole else 0, rtol=0)


@pytest.mark.parametrize(("length", "shorter"), [(210, 84), (160, 84), (5, 5), (9, 2)])
def test_each_new_pixel_covers_as_much_as_any_other(length: int, shorter: int) -> None:
    of, part = shares(length, shorter)
    np.testing.assert_allclose(part.sum(0), 1, rtol=1e-6)
    covered = np.zeros(length)
    np.add.at(covered, of, part)
    np.testing.assert_allclose(covered, shorter / length, rtol=1e-5)
