"""Parts of the user's own that give what they should not are named in the error."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pytest

from engram import D3QN, MFEC, NEC, Agent, Encoder, Network, Spaces
from engram.devices import torch
from engram.errors import DivergedError, InvalidInputError
from tests.faults.worlds import Vectors

NETWORK: dict[str, Any] = {"replay_size": 50, "learning_start_steps": 10, "batch_size": 4}


@dataclass
class Odd(Encoder):
    """Gives keys of a kind that no one can use."""

    how: str = "nan"

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        built = type(self)(self.how)
        built.key_size = 3
        return built

    def __call__(self, observations: Any) -> Any:
        keys = np.array(observations, np.float32)
        if self.how == "nan":
            keys[:] = np.nan
        return {
            "wide": np.ones((len(keys), 4), np.float32),
            "one": keys[:1].repeat(2, axis=0),
            "doubles": keys.astype(np.float64),
            "list": keys.tolist(),
            "none": None,
            "nan": keys,
        }[self.how]


@pytest.mark.parametrize("how", ["wide", "one", "doubles", "list", "none", "nan"])
@pytest.mark.parametrize("kind", [MFEC, NEC, D3QN])
def test_an_encoder_that_gives_other_keys_is_named(kind: Any, how: str) -> None:
    settings = {} if kind is MFEC else NETWORK
    agent: Agent = kind(Vectors, encoder=Odd(how), **settings)
    message = r"the encoder 'Odd' must give finite float32 of shape \[\d, 3\]"
    with pytest.raises(InvalidInputError, match=message):
        agent.q_values(np.zeros((3, 3), np.float32))
    with pytest.raises(InvalidInputError, match=message):
        agent.learn(30)


@dataclass(frozen=True)
class Wrong(Network):
    """Makes modules that no one can use."""

    how: str = "nothing"

    def make(self, shape: tuple[int, ...], size: int) -> Any:
        linear = torch.nn.Linear(shape[0], size)
        if self.how == "nan":
            torch.nn.init.constant_(linear.weight, torch.nan)
        if self.how == "doubles":
            return linear.double()
        odd = {
            "first": torch.nn.Sequential(linear, torch.nn.Flatten(0), torch.nn.Unflatten(0, (1, -1))),
            "shape": torch.nn.Linear(shape[0] + 1, size),
            "nan": linear,
            "nothing": None,
        }
        return odd[self.how]


@pytest.mark.parametrize("how", ["doubles", "first", "shape", "nan", "nothing"])
@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_a_network_that_gives_other_features_is_named(kind: Any, how: str) -> None:
    with pytest.raises(InvalidInputError, match="network 'Wrong'"):
        kind(Vectors, network=Wrong(how), **NETWORK)


@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_a_network_that_diverges_says_so_and_stays_whole(kind: Any) -> None:
    class Rich(Vectors):
        def step(self, action: Any) -> Any:
            seen, reward, *rest = super().step(action)
            return (seen * np.float32(1e12 if kind is NEC else 1e25), reward * 1e14, *rest)

    clip = {"reward_clip": None} if kind is D3QN else {"capacity": 20, "key_size": 4}
    agent = kind(Rich, **NETWORK, **clip, learning_rate=1.0)
    with pytest.raises(DivergedError):
        agent.learn(3_000)
    weights = [
        np.isfinite(each).all() for each in (agent.network if kind is NEC else agent.online).state_dict().values()
    ]
    assert all(weights)
