"""Which shapes are stacks of frames."""

import pytest

from engram.frames import stacked_frames


@pytest.mark.parametrize(
    ("shape", "frames"),
    [
        ((4, 84, 84), 4),
        ((1, 84, 84), 1),
        ((3, 64, 64), 3),
        ((8, 84, 84), 8),
        ((9, 84, 84), 1),
        ((84, 84, 3), 1),
        ((84, 84), 1),
        ((4,), 1),
    ],
)
def test_the_first_axis_of_an_image_counts_frames_up_to_eight(shape: tuple[int, ...], frames: int) -> None:
    assert stacked_frames(shape) == frames
