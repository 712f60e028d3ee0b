"""Networks that turn observations into keys: two linear layers for vectors, three convolutions for images."""

from typing import Any

import numpy as np

from engram.compiling import compiled
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.typing import Array, Floats

HIDDEN = 64  # width between the two layers for vectors
Weights = tuple[Floats, Floats, Floats, Floats]


def make_network(shape: tuple[int, ...], key_size: int, rng: np.random.Generator) -> torch.nn.Sequential:
    """The paper's network for observations of this shape, with weights drawn by the generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**63)))
        if len(shape) == 1:
            return torch.nn.Sequential(
                torch.nn.Linear(shape[0], HIDDEN), torch.nn.ReLU(), torch.nn.Linear(HIDDEN, key_size)
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
        try:
            features = torch.nn.Sequential(*layers)(torch.zeros(1, *shape)).shape[1]
        except RuntimeError as error:
            raise InvalidInputError(
                f"the network takes images [channels, height, width] of 36 pixels or more a side, got {shape}; "
                "wrap the environment so that it gives such images, stacked frames first"
            ) from error
        return torch.nn.Sequential(*layers, torch.nn.Linear(features, key_size))


def as_input(observations: Any, device: torch.device) -> torch.Tensor:
    """A batch of observations as the network takes it: float32, bytes scaled to [0, 1]."""
    batch = torch.as_tensor(observations, device=device)
    return batch.float().div_(255) if batch.dtype == torch.uint8 else batch.float()


@compiled
def two_layers(x: Floats, w1: Floats, b1: Floats, w2: Floats, b2: Floats, out: Floats) -> None:
    """Linear, ReLU, linear for every row of x, each summed in the same order whatever the batch."""
    hidden = np.empty(len(b1), np.float32)
    for row in range(len(x)):
        for i in range(len(b1)):
            hidden[i] = b1[i]
        for j in range(x.shape[1]):
            value = x[row, j]
            for i in range(len(b1)):
                hidden[i] += w1[j, i] * value
        for i in range(len(b2)):
            out[row, i] = b2[i]
        for j in range(len(b1)):
            value = hidden[j]
            if value > 0:
                for i in range(len(b2)):
                    out[row, i] += w2[j, i] * value


class NetworkEncoder:
    """Observations to keys without gradients.

    Vectors on the CPU go through a compiled kernel: the same observation under the same weights has the same bits
    alone and in a batch. Images, and everything on a GPU, go through PyTorch, whose rounding depends on the batch.
    """

    def __init__(self, network: torch.nn.Sequential, key_size: int, device: torch.device) -> None:
        self.network = network.to(device)
        self.key_size = key_size
        self.device = device
        self._compiled = device.type == "cpu" and isinstance(network[0], torch.nn.Linear)
        self._weights: Weights | None = None

    def changed(self) -> None:
        """Note that the network's weights are others now."""
        self._weights = None

    def __call__(self, observations: Array) -> Any:
        """[B, …] → [B, key_size]: NumPy on the CPU, a tensor on a GPU."""
        if self._compiled:
            x = np.ascontiguousarray(observations, np.float32)
            if observations.dtype == np.uint8:
                x = x / np.float32(255)
            keys = np.empty((len(x), self.key_size), np.float32)
            two_layers(x, *(self._weights or self._read_weights()), keys)
            return keys
        with torch.no_grad():
            found = self.network(as_input(observations, self.device))
        return found.numpy() if self.device.type == "cpu" else found

    def _read_weights(self) -> Weights:
        """The weights, transposed so that outputs lie side by side."""
        first: Any = self.network[0]
        last: Any = self.network[-1]
        self._weights = (
            np.ascontiguousarray(first.weight.detach().numpy().T),
            first.bias.detach().numpy(),
            np.ascontiguousarray(last.weight.detach().numpy().T),
            last.bias.detach().numpy(),
        )
        return self._weights
