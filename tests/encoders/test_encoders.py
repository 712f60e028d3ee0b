"""Encoders: each against its equation, and the bits of a key whatever the batch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.fft import dctn

from engram import D3QN, MFEC, NEC, evaluate_policy, load
from engram.encoders import Encoder
from engram.encoders.blurred import Blurred
from engram.encoders.dct import DCT
from engram.encoders.difference import Difference
from engram.encoders.foreground import Foreground
from engram.encoders.identity import Identity
from engram.encoders.projection import Projection
from engram.encoders.pyramid import Pyramid
from engram.encoders.scaled import Scaled
from engram.errors import InvalidInputError
from engram.parts import Spaces
from engram.typing import Array
from tests.conftest import Corridor, assert_same_state
from tests.examples import examples

VECTORS = Spaces((3,), np.dtype(np.float32), 2)


def built(encoder: Encoder, shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    return encoder.build(Spaces(shape, np.dtype(dtype), 2), np.random.default_rng(0))


def test_identity_copies_vectors() -> None:
    encoder = built(Identity(), (3,))
    observations = np.ones((2, 3))
    keys = encoder(observations)
    assert keys.dtype == np.float32
    observations[:] = 7
    assert (keys == 1).all()
    assert encoder.key_size == 3


@examples(50)
@given(arrays(np.float32, (20, 3), elements=st.floats(-1000, 1000, width=32)))
def test_scaled_standardises_by_the_first_steps_and_then_stays(seen: Array) -> None:
    encoder = built(Scaled(12), (3,))
    for number, observation in enumerate(seen):
        assert encoder.settled == (number >= 12)
        encoder.update(observation)
    first = seen[:12].astype(np.float64)
    deviation = first.std(axis=0)
    expected = (seen - first.mean(axis=0)) / np.where(deviation > 1e-9, deviation, 1)
    away = np.where(deviation > 1e-3, 1, np.nan)  # where a dimension hardly varies, rounding decides
    np.testing.assert_allclose(encoder(seen) * away, expected * away, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(encoder(seen), np.concatenate([encoder(row[None]) for row in seen]))


@pytest.mark.parametrize("shape", [(84, 84), (4, 84, 84), (2, 9, 13)])
def test_dct_is_the_low_frequencies_of_every_frame(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(1).integers(0, 256, (6, *shape), np.uint8)
    encoder = built(DCT(5), shape, np.uint8)
    keys = encoder(images)
    exact = dctn(images / 255, axes=(-2, -1), norm="ortho")[..., :5, :5].reshape(6, -1)
    assert keys.shape == exact.shape == (6, encoder.key_size)
    np.testing.assert_allclose(keys, exact, atol=2e-3 * np.abs(exact).max())
    np.testing.assert_array_equal(keys, np.concatenate([encoder(image[None]) for image in images]))
    np.testing.assert_array_equal(encoder(np.full((1, *shape), 255, np.uint8))[0].reshape(-1, 25)[:, 1:].round(2), 0)


STACK = (4, 24, 20)  # frames, height, width


def stacks(seed: int, count: int) -> Array:
    return np.random.default_rng(seed).integers(0, 256, (count, *STACK), np.uint8)


def squared(keys: Array) -> Array:
    found: Array = (keys.astype(np.float64) ** 2).sum(-1)
    return found


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_difference_keeps_the_newest_frame_and_what_changed(weight: float) -> None:
    seen = stacks(1, 6)
    x = seen.reshape(6, 4, -1) / 255
    expected = (x[:, 3] ** 2).sum(1) + weight**2 * (np.diff(x, axis=1) ** 2).sum((1, 2))
    keys = built(Difference(2048, weight=weight), STACK, np.uint8)(seen)
    np.testing.assert_allclose(squared(keys), expected, rtol=0.15)


def test_where_nothing_moves_a_difference_is_of_the_newest_frame_alone() -> None:
    still = stacks(2, 3)
    still[:] = still[:, 3:]
    with_changes, without = (built(Difference(64, weight=weight), STACK, np.uint8)(still) for weight in (1.0, 0.0))
    np.testing.assert_allclose(with_changes, without, atol=1e-3)


def test_blurred_without_a_blur_is_a_projection() -> None:
    seen = stacks(3, 6)
    keys = built(Blurred(2048, block=1), STACK, np.uint8)(seen)
    np.testing.assert_allclose(squared(keys), squared(seen.reshape(6, -1) / 255), rtol=0.15)


def test_in_blurred_frames_a_thing_that_moved_a_little_is_near() -> None:
    def ball(at: int) -> Array:
        frame = np.zeros((24, 20), np.uint8)
        frame[10:12, at : at + 2] = 200
        return np.repeat(frame[None], 4, 0)

    def moved(encoder: Encoder, to: int) -> Any:
        here, there = built(encoder, STACK, np.uint8)(np.array([ball(4), ball(to)]))
        return squared(here - there)

    assert moved(Projection(512), 6) == pytest.approx(moved(Projection(512), 14), rel=0.3), "either way: nothing shared"
    assert moved(Blurred(512, block=6), 6) < 0.3 * moved(Blurred(512, block=6), 14)


def test_frames_fade_with_age() -> None:
    older = np.array([stacks(4, 1)[0]] * 2)
    older[1, :3] = 0  # all but the newest
    for encoder in (Blurred(64, fade=0.0), Difference(64, weight=0.0)):
        keys = built(encoder, STACK, np.uint8)(older)
        np.testing.assert_array_equal(keys[0], keys[1])
    full, faded = (built(Blurred(1024, block=1, fade=fade), STACK, np.uint8)(older) for fade in (1.0, 0.5))
    gone = [squared(keys[0] - keys[1]) for keys in (full, faded)]
    assert gone[1] / gone[0] == pytest.approx((0.5**2 + 0.5**4 + 0.5**6) / 3, rel=0.3)


def seen_foreground(steps: int = 5, **options: Any) -> tuple[Any, Array]:
    """An encoder that has seen a background with something different in front of it each time, and the background."""
    return seen(Foreground(32, steps=steps, cells=4, **options))


def seen(recipe: Foreground) -> tuple[Any, Array]:
    """The same with such an encoder."""
    encoder, background = built(recipe, STACK, np.uint8), stacks(5, 1)[0, :1]
    for step in range(recipe.steps):
        observation = np.repeat(background, 4, 0)
        observation[3, step] ^= 128
        assert not encoder.settled
        encoder.update(observation)
    assert encoder.settled
    return encoder, np.repeat(background, 4, 0)


def test_foreground_is_what_differs_from_the_most_frequent_greys() -> None:
    encoder, background = seen_foreground()
    assert (encoder(background[None]) == 0).all()
    one, other, more = background.copy(), background.copy(), background.copy()
    one[3, 4:6, 4:6] ^= 128
    other[3, 4:6, 4:6] ^= 64
    more[3, 4:6, 4:9] ^= 128
    keys = encoder(np.array([one, other, more]))
    assert keys[0].any()
    np.testing.assert_array_equal(keys[0], keys[1], "how different it is does not matter")
    assert (keys[0] != keys[2]).any()


def test_foreground_counts_pixels_in_cells() -> None:
    encoder, background = seen_foreground(fade=1.0)
    within, across = background.copy(), background.copy()
    within[3, 0:2, 0:2] ^= 128
    across[3, 2:4, 3:5] ^= 128
    keys = encoder(np.array([within, across]))
    np.testing.assert_array_equal(keys[0], keys[1], "the cells are 6 by 5 pixels")


def test_a_pyramid_counts_pixels_in_cells_of_several_sizes() -> None:
    """With weights of one for the cells, keys are the counts: of 4 × 4 cells, of 2 × 2, and of the whole frame."""
    encoder, background = seen(Pyramid(32, steps=5, cells=4, levels=3))
    encoder._weights, encoder._scale = np.eye(4 * (16 + 4 + 1)), 1.0
    encoder.size = len(encoder._weights)
    changed = background.copy()
    changed[3, 0:2, 0:3] ^= 128
    changed[3, 23, 19] ^= 128
    (counts,) = encoder(changed[None])
    fine, coarse, whole = np.split(counts, [64, 80])
    assert fine.reshape(4, 4, 4)[3].tolist() == [[6, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]]
    assert coarse.reshape(4, 2, 2)[3].tolist() == [[6, 0], [0, 1]]
    assert whole.tolist() == [0, 0, 0, 7]
    assert not fine[:48].any()


def test_in_a_pyramid_a_thing_is_further_away_the_further_it_has_moved() -> None:
    encoder, background = seen(Pyramid(1024, steps=5, cells=4, levels=3))
    placed = []
    for column in (0, 5, 10):
        placed.append(background.copy())
        placed[-1][3, 0:2, column : column + 2] ^= 128
    near, far = (squared(each) for each in np.diff(encoder(np.array(placed))[[1, 0, 2]], axis=0) * [[1], [1]])
    assert far > 1.5 * near, "from the first cell to the second they stay in one cell of the next size"


@pytest.mark.parametrize(
    "encoder", [Difference(16), Blurred(16, fade=0.5), Foreground(16, steps=1), Pyramid(16, steps=1, cells=8)]
)
def test_a_key_of_stacked_frames_has_the_same_bits_alone_and_in_any_batch(encoder: Encoder) -> None:
    made, seen = built(encoder, STACK, np.uint8), stacks(6, 40)
    made.update(seen[0])
    together = made(seen)
    assert together.dtype == np.float32
    assert together.shape == (40, made.key_size) == (40, 16)
    np.testing.assert_array_equal(together, np.concatenate([made(each[None]) for each in seen]))
    np.testing.assert_array_equal(together[:7], made(seen[:7]))


class Screen(Corridor):
    """The corridor as four frames with a bar where the agent is."""

    observation_space: Any = gymnasium.spaces.Box(0, 255, (4, 12, 12), np.uint8)

    def reset(self, **given: Any) -> Any:
        self.frames = np.full((4, 12, 12), 90, np.uint8)
        return super().reset(**given)

    def _observation(self) -> Any:
        self.frames = np.roll(self.frames, -1, 0)
        self.frames[3] = 90
        self.frames[3, :, min(self.cell, 4) * 2] = 200
        return self.frames.copy()


@pytest.mark.parametrize(
    "encoder",
    [
        "difference:size=16",
        "blurred:size=16,block=2",
        "foreground:size=16,steps=150",
        "pyramid:size=16,cells=12,steps=150",
    ],
)
@pytest.mark.parametrize("at", [90, 400])
def test_encoders_of_stacked_frames_learn_and_resume_exactly(encoder: str, at: int, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"encoder": encoder, "capacity": 40, "neighbours": 1, "seed": 1}
    settings |= {"epsilon_anneal_start_steps": 200, "epsilon_anneal_end_steps": 800}
    whole = MFEC(Screen, **settings).learn(900)
    MFEC(Screen, **settings).learn(at).save(tmp_path / "model.safetensors")
    assert_same_state(whole, MFEC.load(tmp_path / "model.safetensors", Screen).learn(900 - at))
    assert evaluate_policy(whole, Screen, 5)[0] == 1


def test_a_damaged_state_of_foreground_is_refused() -> None:
    fresh, settled = built(Foreground(steps=5, cells=4), STACK, np.uint8), seen_foreground()[0]
    for encoder, change in (
        (fresh, {"count": -1}),
        (fresh, {"count": 6}),
        (fresh, {"count": 3}),
        (fresh, {"seen": np.zeros((3, 256), np.uint16)}),
        (settled, {"background": np.zeros((3, 3), np.uint8)}),
    ):
        with pytest.raises(InvalidInputError, match="foreground encoder"):
            encoder.load_state_dict(encoder.state_dict() | change)


@pytest.mark.parametrize(
    ("encoder", "shape", "dtype", "message"),
    [
        ("scaled", (4, 84, 84), np.uint8, "takes vectors"),
        ("dct", (4,), np.float32, "takes images of bytes"),
        ("dct:size=90", (84, 84), np.uint8, "of 90 to"),
        ("projection", (4,), np.float32, "takes images, got"),
        ("difference", (4,), np.float32, '"difference" takes images, got'),
        ("foreground", (4, 84, 84), np.float32, "takes images of bytes"),
        ("foreground:cells=90", (84, 84), np.uint8, "of at least 90 pixels a side"),
        ("pyramid:cells=88", (84, 84), np.uint8, "of at least 88 pixels a side"),
        ("pyramid:cells=18", (84, 84), np.uint8, "cannot be halved 2 times for levels=3; choose a multiple of 4"),
    ],
)
def test_what_an_encoder_cannot_take_is_refused(encoder: str, shape: Any, dtype: Any, message: str) -> None:
    space = gymnasium.spaces.Box(0, 255, shape, dtype)

    class Nothing(gymnasium.Env[Any, Any]):
        observation_space, action_space = space, gymnasium.spaces.Discrete(2)

    with pytest.raises(InvalidInputError, match=message):
        MFEC(Nothing, encoder=encoder, capacity=5)


@pytest.mark.parametrize("kind", [MFEC, NEC, D3QN])
@pytest.mark.parametrize("at", [90, 251, 400])  # before, while and after the encoder settles
def test_scaled_is_saved_and_resumed_exactly(kind: Any, at: int, tmp_path: Path) -> None:
    settings = {"encoder": "scaled:steps=250", "seed": 1, "epsilon_anneal_start_steps": 0}
    settings |= {"capacity": 30} if kind is not D3QN else {}
    settings |= {"learning_start_steps": 100, "replay_size": 300} if kind is not MFEC else {}
    whole = kind("CartPole-v1", **settings).learn(600)
    kind("CartPole-v1", **settings).learn(at).save(tmp_path / "model.safetensors")
    assert_same_state(whole, load(tmp_path / "model.safetensors").learn(600 - at))


def test_what_was_met_before_the_encoder_settled_is_written_when_it_does() -> None:
    agent = MFEC("CartPole-v1", encoder="scaled:steps=200", capacity=1000, seed=3)
    events = agent.events(400)
    written = []
    for _ in range(199):
        next(event for event in events if type(event).__name__ == "Step")
        written.append(int(agent.memory.size.sum()))
        assert (agent.q_values(np.ones((2, 4), np.float32)) == 0).all()
    assert set(written) == {0}
    episodes = agent.loop.episode
    assert episodes > 3
    met = agent.steps - agent.loop.length
    for event in events:
        if type(event).__name__ == "Step" and event.step == 200:
            break
    assert agent.memory.size.sum() >= met, "all finished episodes are in the memory"
    plain = MFEC("CartPole-v1", capacity=1000, seed=3).learn(200)
    for action in range(2):
        ours, theirs = agent.memory.entries(action), plain.memory.entries(action)
        count = min(len(ours["states"]), len(theirs["states"]))
        np.testing.assert_array_equal(ours["states"][:count], theirs["states"][:count])
        np.testing.assert_array_equal(ours["values"][:count], theirs["values"][:count])


def test_prediction_and_evaluation_do_not_update_an_encoder() -> None:
    agent = MFEC("CartPole-v1", encoder="scaled:steps=100", capacity=10).learn(50)
    before = agent.encoder.state_dict()["count"]
    agent.predict(np.ones((9, 4), np.float32))
    agent.predict(np.ones((9, 4), np.float32), deterministic=False)
    assert agent.encoder.state_dict()["count"] == before == 50


def test_a_damaged_state_of_scaled_is_refused() -> None:
    encoder = Scaled(10).build(VECTORS, np.random.default_rng(0))
    good = encoder.state_dict()
    for name, value in (("count", 11), ("count", -1), ("mean", np.zeros(2)), ("squares", np.array([-1.0, 0, 0]))):
        with pytest.raises(InvalidInputError, match="scaled encoder"):
            encoder.load_state_dict({**good, name: value})


@dataclass
class Forgetful(Encoder):
    answer: str = "nothing"

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Any:
        return None if self.answer == "nothing" else Forgetful()


@pytest.mark.parametrize("answer", ["nothing", "no key size"])
def test_an_encoder_that_is_built_wrongly_is_named(answer: str) -> None:
    with pytest.raises(InvalidInputError, match="'Forgetful' must return an encoder with key_size"):
        MFEC("CartPole-v1", encoder=Forgetful(answer))
