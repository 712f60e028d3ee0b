"""Networks of NEC and D3QN, as recipes: linear layers are compiled, all else needs the extra `torch`."""

from engram.networks.base import Network, make_module
from engram.networks.convolutional import SMALLEST, Convolutional
from engram.networks.mlp import MLP
from engram.networks.small_convolutional import SmallConvolutional
from engram.parts import Family

NETWORKS: Family[Network] = Family("network", Network, __name__, aliases={"conv": "convolutional"})

__all__ = ["NETWORKS", "Network", "default_network", "make_module"]


def default_network(shape: tuple[int, ...]) -> Network:
    """The paper's network for observations of this shape; for images too small for it, one that fits."""
    if len(shape) == 1:
        return MLP()
    return Convolutional() if min(shape[-2:]) >= SMALLEST else SmallConvolutional()
