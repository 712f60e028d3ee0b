"""The paper's network for vectors: two linear layers with a ReLU between."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engram import checks
from engram.errors import InvalidInputError
from engram.networks.base import WIDEST, Network, require_weights

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class MLP(Network):
    """Linear, ReLU, linear."""

    hidden: int = 64  # width between the two layers

    name = "mlp"

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", checks.at_least("hidden", self.hidden, 1, WIDEST))

    def make(self, shape: tuple[int, ...], size: int) -> "torch.nn.Module":
        """Two layers for vectors of this length."""
        from engram.devices import torch  # noqa: PLC0415 (an extra)

        if len(shape) != 1:
            raise InvalidInputError(f'network "mlp" takes vectors, got shape {shape}; for images use "convolutional"')
        require_weights(shape[0] * self.hidden + self.hidden * size, "hidden")
        return torch.nn.Sequential(
            torch.nn.Linear(shape[0], self.hidden), torch.nn.ReLU(), torch.nn.Linear(self.hidden, size)
        )
