"""The paper's network for vectors: two linear layers with a ReLU between."""

from dataclasses import dataclass

from engram.errors import InvalidInputError
from engram.networks.base import WIDEST, Network


@dataclass(frozen=True)
class MLP(Network):
    """Linear, ReLU, linear."""

    hidden: int = 64  # width between the two layers

    name = "mlp"

    def __post_init__(self) -> None:
        self.check_whole({"hidden": (1, WIDEST)})

    def widths(self, shape: tuple[int, ...], size: int) -> tuple[int, ...]:
        """Two layers for vectors of this length."""
        if len(shape) != 1:
            raise InvalidInputError(f'network "mlp" takes vectors, got shape {shape}; for images use "convolutional"')
        return (shape[0], self.hidden, size)
