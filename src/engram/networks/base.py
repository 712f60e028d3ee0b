"""What a network is: a recipe for a PyTorch module that turns encoded observations into features."""

from typing import TYPE_CHECKING

import numpy as np

from engram.errors import InvalidInputError
from engram.parts import Part

if TYPE_CHECKING:
    import torch


class Network(Part):
    """Makes the module of NEC or D3QN, from the shape of an observation and the number of features to give.

    To write your own, derive from this class and define `make`. The heads are the agent's own: NEC takes the features
    as the key, D3QN puts its Q-values behind them. Weights are drawn by PyTorch's generator, which the agent seeds.
    """

    def make(self, shape: tuple[int, ...], size: int) -> "torch.nn.Module":
        """A module that maps float32 [B, *shape] to [B, size]; bytes come in scaled to [0, 1]."""
        raise NotImplementedError(f"the network {self.name!r} must define make(shape, size)")


def make_module(
    network: Network, shape: tuple[int, ...], size: int, generator: np.random.Generator
) -> "torch.nn.Module":
    """A network's module, with weights that the generator determines; PyTorch's own generator is left as it was."""
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator.integers(2**63)))
        module = network.make(shape, size).eval()  # dropout would draw from a generator that is not the agent's
    if next(module.buffers(), None) is not None:
        raise InvalidInputError(
            f"the network {network.name!r} has buffers, as batch normalisation does; use layers that have only "
            "parameters, for example LayerNorm"
        )
    with torch.no_grad():
        given = tuple(module(torch.zeros(1, *shape)).shape)
    if given != (1, size):
        raise InvalidInputError(f"the network {network.name!r} must give [batch, {size}], gave {list(given)} for one")
    return module
