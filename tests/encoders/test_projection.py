"""The projection: the sums of a dense product, whatever was projected before and whatever stands beside it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from engram.encoders.projection import FLUSH_PIXELS, LARGEST_WEIGHT, MOST_REMEMBERED, SCALE, Projection
from engram.envs.atari import AtariGame
from engram.parts import Spaces
from engram.typing import Array, Floats
from tests.examples import examples

KEYS = 6


def dense(images: Array, key_size: int, seed: int = 5) -> Floats:
    """Every pixel times its weights, in whole numbers of 64 bits."""
    pixels = int(np.prod(images.shape[1:]))
    weights = np.rint(np.random.default_rng(seed).standard_normal((pixels, key_size)) * SCALE).astype(np.int64)
    sums = images.reshape(len(images), -1).astype(np.int64) @ weights
    return np.asarray(sums * (1 / (255 * SCALE * np.sqrt(key_size)))).astype(np.float32)


def projection(shape: tuple[int, ...], key_size: int = KEYS, seed: int = 5) -> Projection:
    spaces = Spaces(shape, np.dtype(np.uint8), 2)
    return Projection(key_size).build(spaces, np.random.default_rng(seed))


@pytest.mark.parametrize("shape", [(4, 6, 5), (3, 7), (9, 4, 3), (1, 8, 8)])
@examples(40)
@given(data=st.data())
def test_keys_are_those_of_the_dense_product(shape: tuple[int, ...], data: st.DataObject) -> None:
    images = data.draw(arrays(np.uint8, (5, *shape)))
    project = projection(shape)
    batches = data.draw(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=5))
    expected = dense(images, KEYS)
    for batch in batches:
        np.testing.assert_array_equal(project(images[batch]), expected[batch])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_, np.int64])
@pytest.mark.parametrize("shape", [(4, 6, 5), (3, 7)])
def test_other_numbers_than_bytes_are_projected_by_the_same_weights(shape: tuple[int, ...], dtype: Any) -> None:
    images = (np.random.default_rng(0).integers(0, 256, (9, *shape)) > 128).astype(dtype)
    spaces = Spaces(shape, np.dtype(dtype), 2)
    project = Projection(KEYS).build(spaces, np.random.default_rng(7))
    bytes_like = Projection(KEYS).build(Spaces(shape, np.dtype(np.uint8), 2), np.random.default_rng(7))
    keys = project(images)
    assert keys.dtype == np.float32
    np.testing.assert_allclose(keys, bytes_like((images * 255).astype(np.uint8)), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(np.concatenate([project(image[None]) for image in images]), keys)


def test_keys_of_a_real_game_alone_and_in_a_batch() -> None:
    game = AtariGame("ms_pacman")
    frames = [game.reset(seed=2)[0]]
    rng = np.random.default_rng(0)
    while len(frames) < 60:
        frames.append(game.step(int(rng.integers(9)))[0])
    images = np.array(frames)
    expected = dense(images, 128)
    project = projection((4, 84, 84), 128)
    np.testing.assert_array_equal(np.concatenate([project(image[None]) for image in images]), expected)
    np.testing.assert_array_equal(project(images[::-1]), expected[::-1])


def test_the_largest_sums_do_not_overflow() -> None:
    black, white = (np.full((1, 4, 84, 84), value, np.uint8) for value in (0, 255))
    project = projection((4, 84, 84))
    for image in (white, black, white):
        np.testing.assert_array_equal(project(image), dense(image, KEYS))
    assert FLUSH_PIXELS * 255 * LARGEST_WEIGHT < 2**31


def test_what_is_remembered_does_not_grow_without_bound() -> None:
    images = np.random.default_rng(0).integers(0, 256, (3 * MOST_REMEMBERED + 1, 4, 6, 5), np.uint8)
    project = projection((4, 6, 5))
    np.testing.assert_array_equal(project(images), dense(images, KEYS))
    assert len(project._seen) == len(project._sums) == MOST_REMEMBERED
