"""Forward passes of small networks, compiled: linear layers with ReLUs between.

Every sum is taken in the same order whatever the batch, so the same observation under the same weights has the same
bits alone and in a batch. PyTorch's rounding depends on the batch.
"""

from itertools import pairwise
from typing import Any

import numba
import numpy as np

from engram.compiling import compiled
from engram.devices import torch
from engram.errors import InvalidInputError
from engram.networks.inputs import as_rows
from engram.typing import Array, Floats


@compiled
def linear(x: Floats, weights: Floats, biases: Floats, out: Floats) -> None:
    """Biases + x · weights [inputs, outputs], summed in the order of x."""
    for i in range(len(out)):
        out[i] = biases[i]
    for j in range(len(x)):
        value = x[j]
        if value != 0:
            for i in range(len(out)):
                out[i] += weights[j, i] * value


@compiled
def forward(x: Floats, weights: tuple[Floats, ...], biases: tuple[Floats, ...], out: Floats) -> None:
    """All layers for every row of x [B, inputs], with a ReLU after each but the last: [B, outputs]."""
    widest, last = 0, len(weights) - 1
    for bias in biases:
        widest = max(widest, len(bias))
    here, there = np.empty(widest, np.float32), np.empty(widest, np.float32)
    for row in range(len(x)):
        inputs = x[row]
        for number in range(last):
            hidden = here[: len(biases[number])]
            linear(inputs, weights[number], biases[number], hidden)
            for i in range(len(hidden)):
                hidden[i] = max(hidden[i], np.float32(0))
            inputs = hidden
            here, there = there, here
        linear(inputs, weights[last], biases[last], out[row])


class CompiledLayers:
    """The forward pass of a PyTorch module that consists of linear layers with ReLUs between, without gradients.

    Args:
        module: The layers.
        combination: A matrix that the output is multiplied by, [outputs, final outputs].
    """

    def __init__(self, module: torch.nn.Module, combination: Floats | None = None) -> None:
        self._layers: list[Any] = [layer for layer in flattened(module) if isinstance(layer, torch.nn.Linear)]
        self._combination = combination
        self._weights: tuple[Floats, ...] = ()
        self._biases: tuple[Floats, ...] = ()
        self._forward: Any = None  # the kernel for the types of these arrays, found once

    @staticmethod
    def fits(module: torch.nn.Module) -> bool:
        """Whether a module has no other layers, and is on the CPU."""
        layers = flattened(module)
        linears = [isinstance(layer, torch.nn.Linear) and layer.bias is not None for layer in layers]
        relus = [isinstance(layer, torch.nn.ReLU) for layer in layers]
        alternating = len(layers) % 2 == 1 and all(linears[::2]) and all(relus[1::2])
        parameters = list(module.parameters()) if alternating else []
        plain = all(each.device.type == "cpu" and each.dtype == torch.float32 for each in parameters)
        widths: list[Any] = layers[::2] if alternating else []
        return alternating and plain and all(a.out_features == b.in_features for a, b in pairwise(widths))

    def weights_changed(self) -> None:
        """To be called after each change of the parameters."""
        self._weights = ()

    def __call__(self, observations: Array) -> Floats:
        """[B, inputs] → [B, outputs]."""
        if not self._weights:
            self._read_weights()
        x = as_rows(observations)
        if x.ndim != 2 or x.shape[1] != len(self._weights[0]):
            raise InvalidInputError(
                f"the network takes vectors [batch, {len(self._weights[0])}], got an array of shape {x.shape}"
            )
        out = np.empty((len(x), len(self._biases[-1])), np.float32)
        if self._forward is None:
            kernel: Any = forward
            self._forward = kernel.compile(tuple(map(numba.typeof, (x, self._weights, self._biases, out))))
        self._forward(x, self._weights, self._biases, out)
        return out

    def _read_weights(self) -> None:
        """Take over the parameters, transposed so that outputs lie side by side."""
        weights = [layer.weight.detach().numpy().T for layer in self._layers]
        biases = [layer.bias.detach().numpy() for layer in self._layers]
        if self._combination is not None:
            weights[-1], biases[-1] = weights[-1] @ self._combination, biases[-1] @ self._combination
        self._biases = tuple(map(np.ascontiguousarray, biases))
        self._weights = tuple(map(np.ascontiguousarray, weights))


def flattened(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The layers of nested sequences, in order."""
    if not isinstance(module, torch.nn.Sequential):
        return [module]
    return [layer for each in module for layer in flattened(each)]
