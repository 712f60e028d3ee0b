"""The paper's network for images: three convolutions and a linear layer."""

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from engram.errors import InvalidInputError
from engram.networks.base import Network, require_weights

if TYPE_CHECKING:
    import torch

SMALLEST = 34  # pixels a side that are left with something after all convolutions


@dataclass(frozen=True)
class Convolutional(Network):
    """32 of 8 × 8 in steps of 4, 64 of 4 × 4 in steps of 2, 64 of 3 × 3, each with a ReLU, and a linear layer."""

    name = "convolutional"

    def make(self, shape: tuple[int, ...], size: int) -> "torch.nn.Module":
        """The layers for images [channels, height, width] or [height, width]."""
        from engram.devices import torch  # noqa: PLC0415 (an extra)

        channels, *sides = (1, *shape) if len(shape) == 2 else shape
        if len(sides) != 2 or min(sides) < SMALLEST:
            raise InvalidInputError(
                f'network "convolutional" takes images [channels, height, width] of {SMALLEST} pixels or more a side, '
                f'got {shape}; for smaller images use "small-convolutional", for vectors "mlp"'
            )
        layers: list[torch.nn.Module] = [
            *([torch.nn.Unflatten(1, (1, shape[0]))] if len(shape) == 2 else []),
            torch.nn.Conv2d(channels, 32, 8, stride=4, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 64, 4, stride=2),
            torch.nn.ReLU(),
            torch.nn.Conv2d(64, 64, 3),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
        ]
        features = 64 * prod(((side - 6) // 4 - 1) // 2 - 2 for side in sides)
        require_weights(features * size, "size of features and keys")
        return torch.nn.Sequential(*layers, torch.nn.Linear(features, size))
