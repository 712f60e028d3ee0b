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

from engram import D3QN, MFEC, NEC, load
from engram.encoders import Encoder
from engram.encoders.dct import DCT
from engram.encoders.identity import Identity
from engram.encoders.scaled import Scaled
from engram.errors import InvalidInputError
from engram.parts import Spaces
from engram.typing import Array
from tests.conftest import assert_same_state
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


@pytest.mark.parametrize(
    ("encoder", "shape", "dtype", "message"),
    [
        ("scaled", (4, 84, 84), np.uint8, "takes vectors"),
        ("dct", (4,), np.float32, "takes images of bytes"),
        ("dct:size=90", (84, 84), np.uint8, "of 90 to"),
        ("projection", (4,), np.float32, "takes images, got"),
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
