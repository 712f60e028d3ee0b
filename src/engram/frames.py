"""Which images are stacks of frames."""

MAX_FRAMES = 8  # an image with a longer first axis is no stack


def stacked_frames(shape: tuple[int, ...]) -> int:
    """The number of frames in an image: `stack` for the shape (stack, height, width), otherwise 1.

    Colours first, (3, height, width), cannot be told from three frames and count as such.
    """
    return shape[0] if len(shape) == 3 and 1 <= shape[0] <= MAX_FRAMES else 1
