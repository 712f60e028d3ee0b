"""Inference gives the bits of the network itself; without a GPU it is the network itself."""

from collections.abc import Callable

import pytest

from engram.devices import torch
from engram.networks import NETWORKS
from engram.networks.inference import infer

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def convolution(**settings: object) -> torch.nn.Module:
    return torch.nn.Conv2d(4, 8, 3, **settings)  # type: ignore[arg-type]


def hooked() -> torch.nn.Module:
    layer = convolution()
    layer.register_forward_pre_hook(lambda _, given: (given[0] * 2,))
    return torch.nn.Sequential(layer, torch.nn.ReLU())


MAKERS: dict[str, Callable[[], torch.nn.Module]] = {
    "convolutional": lambda: NETWORKS.find("convolutional").make((4, 84, 84), 16),
    "in another": lambda: torch.nn.Sequential(NETWORKS.find("convolutional").make((4, 84, 84), 16), torch.nn.ReLU()),
    "no ReLU": lambda: torch.nn.Sequential(convolution(), torch.nn.Tanh()),
    "no bias": lambda: torch.nn.Sequential(convolution(bias=False), torch.nn.ReLU()),
    "padded by name": lambda: torch.nn.Sequential(convolution(padding="same"), torch.nn.ReLU()),
    "padded in a circle": lambda: torch.nn.Sequential(convolution(padding=1, padding_mode="circular"), torch.nn.ReLU()),
    "hooked": hooked,
    "alone": convolution,
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("batch", [1, 32])
def test_it_has_the_bits_of_the_network(name: str, batch: int) -> None:
    torch.manual_seed(0)
    network, x = MAKERS[name]().to(DEVICE), torch.rand(batch, 4, 84, 84, device=DEVICE)
    found = infer(network, x)
    assert not found.requires_grad
    torch.testing.assert_close(found, network(x).detach(), rtol=0, atol=0)
