"""Stacks of frames beside OpenCV, from one step to the next."""

import cv2
import numpy as np
import pytest

from engram.envs.frame_stack import FrameStack


@pytest.mark.parametrize(("height", "size"), [(210, 84), (250, 42), (210, 160)])
def test_frames_of_which_only_some_lines_change_are_as_if_made_anew(height: int, size: int) -> None:
    rng = np.random.default_rng(size)
    screens = rng.integers(256, size=(2, height, 160)).astype(np.uint8)
    stack = FrameStack((height, 160), size, 3)
    for _ in range(2):  # games
        stack.clear()
        expected = np.zeros((3, size, size), np.uint8)
        for step in range(12):
            for _ in range((0, 1, 5, height)[step % 4]):
                screens[rng.integers(2), rng.integers(height), rng.integers(150) :] = rng.integers(256)
            stack.grey[:] = screens
            larger = screens.max(0)
            smaller = cv2.resize(larger, (size, size), interpolation=cv2.INTER_AREA)
            expected = np.concatenate([expected[1:], smaller[None]])
            np.testing.assert_array_equal(stack.push(), expected)
            np.testing.assert_array_equal(stack.grey[0], larger)


def test_an_observation_is_not_changed_by_later_ones() -> None:
    stack = FrameStack((210, 160), 84, 2)
    stack.grey[0] = 7
    first = stack.push()
    copy = first.copy()
    stack.grey[1] = 200
    stack.push()
    np.testing.assert_array_equal(first, copy)
