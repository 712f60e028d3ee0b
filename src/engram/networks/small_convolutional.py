"""A network for small images, such as grids of a few cells: three convolutions of 3 × 3 and a linear layer."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from engram.errors import InvalidInputError
from engram.networks.base import Network, require_weights

if TYPE_CHECKING:
    import torch

STRIDE_FROM = 16  # pixels a side from which on the second and third convolution go in steps of 2


@dataclass(frozen=True)
class SmallConvolutional(Network):
    """16, 32 and 32 of 3 × 3, each with a ReLU, and a linear layer; in steps of 1, on larger images of 1, 2 and 2."""

    name = "small-convolutional"

    def make(self, shape: tuple[int, ...], size: int) -> "torch.nn.Module":
        """The layers for images [channels, height, width] or [height, width] of any size."""
        from engram.devices import torch  # noqa: PLC0415 (an extra)

        if len(shape) not in (2, 3):
            raise InvalidInputError(
                f'network "small-convolutional" takes images, got shape {shape}; for vectors use "mlp"'
            )
        channels, *sides = (1, *shape) if len(shape) == 2 else shape
        stride = 2 if min(sides) >= STRIDE_FROM else 1
        for _ in range(2):
            sides = [(side - 1) // stride + 1 for side in sides]
        features = 32 * prod(sides)
        require_weights(features * size, "size of features and keys")
        return torch.nn.Sequential(
            *([torch.nn.Unflatten(1, (1, shape[0]))] if len(shape) == 2 else []),
            torch.nn.Conv2d(channels, 16, 3, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(16, 32, 3, stride=stride, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 32, 3, stride=stride, padding=1),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(features, size),
        )
