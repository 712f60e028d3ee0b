"""Networks: the paper's, and one of the user's own, in NEC and in D3QN."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engram import D3QN, NEC, Network, load
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.networks import NETWORKS, default_network, make_module
from engram.networks.convolutional import Convolutional
from engram.networks.dense import Dense, backward, take_step
from engram.networks.mlp import MLP
from engram.networks.small_convolutional import SmallConvolutional


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


@dataclass(frozen=True)
class Deep(Network):
    """Linear layers with ReLUs between: compiled, and PyTorch's if need be."""

    hidden: tuple[int, ...] = (33, 8, 70)

    def widths(self, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
        return (*shape, *self.hidden, size)


@pytest.mark.parametrize("hidden", [(), (33,), (33, 8), (33, 8, 70)])
def test_compiled_layers_agree_with_pytorch_and_do_not_depend_on_the_batch(hidden: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    module = make_module(Deep(hidden), (5,), 3, rng)
    dense = Dense((5, *hidden, 3), names=list(module.state_dict()))
    dense.load_state_dict({name: weight.numpy() for name, weight in module.state_dict().items()})
    x = rng.standard_normal((17, 5)).astype(np.float32)
    ours = dense(x)
    np.testing.assert_allclose(ours, module(torch.from_numpy(x)).detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(ours, np.concatenate([dense(row[None]) for row in x]))


@pytest.mark.parametrize("widths", [(3, 2), (4, 17, 2), (1, 8, 9, 1)])
def test_gradients_agree_with_pytorch(widths: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    dense = Dense(widths)
    dense.draw(rng)
    x = rng.standard_normal((13, widths[0])).astype(np.float32)
    slopes = rng.standard_normal((13, widths[-1])).astype(np.float32)
    weights = [torch.from_numpy(array.copy()).requires_grad_() for array in dense.arrays(dense.parameters)]
    out = torch.from_numpy(x)
    for number, (weight, bias) in enumerate(zip(weights[::2], weights[1::2], strict=True)):
        out = torch.nn.functional.linear(torch.relu(out) if number else out, weight, bias)
    expected = torch.autograd.grad(out, weights, torch.from_numpy(slopes))
    layers, gradient = dense.run(x), np.full_like(dense.parameters, np.nan)
    room = np.full_like(layers, np.nan)
    room[len(room) - slopes.size :] = slopes.reshape(-1)
    backward(dense.parameters, dense.widths, x, layers, room, gradient)
    for ours, theirs in zip(dense.arrays(gradient), expected, strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-4, atol=1e-5)


def test_a_gradient_that_is_not_finite_changes_nothing() -> None:
    for wrong in (np.nan, np.inf, -np.inf, 1e30):
        parameters, squares = np.ones(9, np.float32), np.ones(9, np.float32)
        gradient = np.ones(9, np.float32)
        gradient[7] = wrong
        assert not take_step(parameters, squares, gradient, 0.1, 0.9, 0.1)
        assert (parameters == 1).all()
        assert (squares == 1).all()


def test_averages_that_fade_away_become_zero_instead_of_denormal() -> None:
    parameters, squares = np.ones(3, np.float32), np.full(3, 2e-35, np.float32)
    for _ in range(3):
        assert take_step(parameters, squares, np.zeros(3, np.float32), 0.1, 0.5, 0.1)
    assert (squares == 0).all()


@pytest.mark.parametrize(("width", "message"), [(5, "but its widths are"), (0, "must be at least 1"), ("x", "whole")])
def test_widths_that_do_not_fit_are_refused(width: Any, message: str) -> None:
    @dataclass(frozen=True)
    class Askew(Network):
        def widths(self, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
            return (shape[0], 3, width)

    with pytest.raises(InvalidInputError, match=message):
        NEC("CartPole-v1", network=Askew())


def test_layers_too_large_for_the_memory_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="choose a smaller width"):
        D3QN("CartPole-v1", network=Deep((65_536, 65_536, 65_536)))


@pytest.mark.parametrize("network", [Tanh(7), Deep((9, 5))])
@pytest.mark.parametrize("kind", [NEC, D3QN])
def test_a_network_of_ones_own_learns_and_resumes_exactly(kind: Any, network: Network, tmp_path: Path) -> None:
    settings = {"network": network, "learning_start_steps": 50, "replay_size": 200, "seed": 2}
    settings |= {"capacity": 20} if kind is NEC else {}
    whole = kind("CartPole-v1", **settings).learn(300)
    kind("CartPole-v1", **settings).learn(120).save(tmp_path / "model.safetensors")
    resumed = load(tmp_path / "model.safetensors", network=network).learn(180)
    observations = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)
    np.testing.assert_array_equal(resumed.q_values(observations), whole.q_values(observations))
    with pytest.raises(InvalidInputError, match=f"{type(network).__name__!r} is not part of Engram"):
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


@pytest.mark.parametrize(
    "shape", [(3, 7, 7), (4, 10, 10), (10, 10), (1, 1, 1), (2, 33, 40), (7, 5), (50, 36), (4, 84, 84)]
)
def test_every_image_gets_a_network_that_fits(shape: tuple[int, ...]) -> None:
    network = default_network(shape)
    assert network.name == ("convolutional" if min(shape[-2:]) >= 34 else "small-convolutional")
    module = make_module(network, shape, 8, np.random.default_rng(0))
    assert len(list(module.parameters())) == 8  # four layers, as D3QN's files expect
    assert NETWORKS.find(network.name).widths(shape, 8) is None
    with pytest.raises(InvalidInputError, match=r'"small-convolutional" takes images.* "mlp"'):
        make_module(SmallConvolutional(), (4,), 8, np.random.default_rng(0))


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
