"""Networks: the paper's, and one of the user's own, in NEC and in D3QN."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, NEC, Network, load
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.networks import make_module
from engram.networks.convolutional import Convolutional
from engram.networks.layers import CompiledLayers
from engram.networks.mlp import MLP


@dataclass(frozen=True)
class Tanh(Network):
    width: int = 10

    def make(self, shape: tuple[int, ...], size: int) -> torch.nn.Module:
        return torch.nn.Sequential(
            torch.nn.Linear(shape[0], self.width), torch.nn.Tanh(), torch.nn.Linear(self.width, size)
        )


@dataclass(frozen=True)
class Wrong(Network):
    how: str = "width"

    def make(self, shape: tuple[int, ...], size: int) -> torch.nn.Module:
        if self.how == "buffers":
            return torch.nn.Sequential(torch.nn.Linear(shape[0], size), torch.nn.BatchNorm1d(size))
        return torch.nn.Linear(shape[0], size + 1)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_compiled_layers_agree_with_pytorch_and_do_not_depend_on_the_batch(layers: int) -> None:
    torch.manual_seed(layers)
    widths = [5, 33, 8, 70, 3][: layers + 1]
    modules: list[torch.nn.Module] = []
    for inputs, outputs in pairwise(widths):
        modules += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    module = torch.nn.Sequential(*modules[:-1])
    assert CompiledLayers.fits(module)
    x = np.random.default_rng(0).standard_normal((17, 5)).astype(np.float32)
    ours = CompiledLayers(module)(x)
    np.testing.assert_allclose(ours, module(torch.from_numpy(x)).detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(ours, np.concatenate([CompiledLayers(module)(row[None]) for row in x]))


def test_other_modules_do_not_fit() -> None:
    for module in (
        torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3)),
        torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()),
        torch.nn.Conv2d(1, 1, 1),
        torch.nn.Linear(3, 3, bias=False),
    ):
        assert not CompiledLayers.fits(module)


@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_a_network_of_ones_own_learns_and_resumes_exactly(kind: Any, tmp_path: Path) -> None:
    settings = {"network": Tanh(7), "learning_start_steps": 50, "replay_size": 200, "seed": 2}
    settings |= {"capacity": 20} if kind is NEC else {}
    whole = kind("CartPole-v1", **settings).learn(300)
    kind("CartPole-v1", **settings).learn(120).save(tmp_path / "model.safetensors")
    resumed = load(tmp_path / "model.safetensors", network=Tanh(7)).learn(180)
    observations = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    np.testing.assert_array_equal(resumed.q_values(observations), whole.q_values(observations))
    with pytest.raises(InvalidInputError, match="'Tanh' is not part of Engram"):
        load(tmp_path / "model.safetensors")


def test_networks_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"must give float32 \[batch, 64\], gave \[1, 65\]"):
        NEC("CartPole-v1", network=Wrong())
    with pytest.raises(InvalidInputError, match="has buffers, as batch normalisation does"):
        D3QN("CartPole-v1", network=Wrong("buffers"))
    with pytest.raises(InvalidInputError, match='network "mlp" takes vectors'):
        make_module(MLP(), (4, 84, 84), 8, np.random.default_rng(0))
    for side, fits in ((34, True), (33, False)):
        if fits:
            make_module(Convolutional(), (4, side, side), 8, np.random.default_rng(0))
        else:
            with pytest.raises(InvalidInputError, match="of 34 pixels or more a side"):
                make_module(Convolutional(), (4, side, side), 8, np.random.default_rng(0))


def test_dropout_is_switched_off() -> None:
    @dataclass(frozen=True)
    class Dropping(Network):
        def make(self, shape: tuple[int, ...], size: int) -> torch.nn.Module:
            return torch.nn.Sequential(torch.nn.Linear(shape[0], size), torch.nn.Dropout(0.5))

    agent = NEC("CartPole-v1", network=Dropping(), capacity=20, learning_start_steps=50).learn(150)
    observations = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    np.testing.assert_array_equal(agent.q_values(observations), agent.q_values(observations))


def test_weights_are_drawn_without_touching_pytorchs_generator() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    D3QN("CartPole-v1", seed=3)
    assert torch.equal(before, torch.random.get_rng_state())
