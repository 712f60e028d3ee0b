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
        """The layers for images [channels, height, width]."""
        from engram.devices import torch  # noqa: PLC0415 (an extra)

        if len(shape) != 3 or min(shape[1:]) < SMALLEST:
            raise InvalidInputError(
                f"the network takes images [channels, height, width] of {SMALLEST} pixels or more a side, got {shape}; "
                "wrap the environment so that it gives such images, stacked frames first"
            )
        layers: list[torch.nn.Module] = [
            torch.nn.Conv2d(shape[0], 32, 8, stride=4, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 64, 4, stride=2),
            torch.nn.ReLU(),
            torch.nn.Conv2d(64, 64, 3),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
        ]
        features = 64 * prod(((side - 6) // 4 - 1) // 2 - 2 for side in shape[1:])
        require_weights(features * size, "size of features and keys")
        return torch.nn.Sequential(*layers, torch.nn.Linear(features, size))
