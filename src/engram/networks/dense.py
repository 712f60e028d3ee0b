"""Small networks for vectors, compiled: linear layers with ReLUs between, forwards and backwards.

All parameters of a network lie in one array, layer after layer: weights [inputs, outputs], then biases [outputs]. So
one kernel serves every number of layers, an optimiser is one loop, and a copy is one assignment. PyTorch and Engram's
files have weights as [outputs, inputs].

Every sum is taken in the same order whatever the batch, so the same input under the same parameters gives the same bits
alone and in a batch.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from engram.borrowing import borrowed
from engram.compiling import compiled
from engram.errors import InvalidInputError
from engram.memory.lanes import generated
from engram.typing import Array, Doubles, Floats, Longs
from engram.weights import LARGEST_WEIGHT, check_fit, require_sound

ZERO = np.float32(0)
TINY = np.float32(1e-35)
STEEPEST, HEAVIEST = np.float32(1e18), np.float32(LARGEST_WEIGHT)
BLOCK = 8  # rows that are added at once


@generated
def fused(typing: Any, a: Any, b: Any, c: Any) -> Any:
    """a · b + c, rounded once."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, args: Any) -> ir.Value:
        number = ir.FloatType()
        kind = ir.FunctionType(number, [number] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.f32"), args)

    return types.float32(types.float32, types.float32, types.float32), generate


@compiled
def add_rows(out: Floats, rows: Floats, factors: Floats) -> None:
    """Add the rows of a matrix, each times its factor, to `out`, one after the other."""
    done = 0
    while done + BLOCK <= len(factors):
        f0, f1, f2, f3 = factors[done], factors[done + 1], factors[done + 2], factors[done + 3]
        f4, f5, f6, f7 = factors[done + 4], factors[done + 5], factors[done + 6], factors[done + 7]
        x0, x1, x2, x3 = rows[done], rows[done + 1], rows[done + 2], rows[done + 3]
        x4, x5, x6, x7 = rows[done + 4], rows[done + 5], rows[done + 6], rows[done + 7]
        for i in range(len(out)):
            low = fused(f3, x3[i], fused(f2, x2[i], fused(f1, x1[i], fused(f0, x0[i], out[i]))))
            out[i] = fused(f7, x7[i], fused(f6, x6[i], fused(f5, x5[i], fused(f4, x4[i], low))))
        done += BLOCK
    while done < len(factors):
        f0, x0 = factors[done], rows[done]
        for i in range(len(out)):
            out[i] = fused(f0, x0[i], out[i])
        done += 1


@compiled
def forward(parameters: Floats, widths: Longs, x: Floats, layers: Floats) -> None:
    """What every layer gives for every row of x [B, inputs], with a ReLU after each but the last.

    `layers` has the layers one after the other, each [B, outputs].
    """
    parameters, layers, inputs = borrowed(parameters), borrowed(layers), borrowed(x)
    rows, at, begin = len(x), 0, 0
    for number in range(1, len(widths)):
        before, width = widths[number - 1], widths[number]
        split, stop = at + before * width, begin + rows * width
        weights, biases = parameters[at:split].reshape(before, width), parameters[split : split + width]
        outputs = layers[begin:stop].reshape(rows, width)
        for row in range(rows):
            out = outputs[row]
            for i in range(width):
                out[i] = biases[i]
            add_rows(out, weights, inputs[row])
            if number < len(widths) - 1:
                for i in range(width):
                    out[i] = max(out[i], ZERO)
        inputs, at, begin = outputs, split + width, stop


@compiled
def backward(parameters: Floats, widths: Longs, x: Floats, layers: Floats, slopes: Floats, gradient: Floats) -> None:
    """The gradient of a loss by all parameters.

    `slopes` is as `layers`. On entry its last layer holds the slopes of the loss by what the network gave, and on
    return all layers do. Slopes pass a ReLU where its output is above 0.
    """
    parameters, x, layers = borrowed(parameters), borrowed(x), borrowed(layers)
    slopes, gradient = borrowed(slopes), borrowed(gradient)
    rows, end, stop = len(x), len(parameters), len(layers)
    for number in range(len(widths) - 1, 0, -1):
        before, width = widths[number - 1], widths[number]
        split, begin = end - width, stop - rows * width
        start, lower = split - before * width, begin - rows * before
        slope = slopes[begin:stop].reshape(rows, width)
        inputs = x if number == 1 else layers[lower:begin].reshape(rows, before)
        by_weights, by_biases = gradient[start:split].reshape(before, width), gradient[split:end]
        gradient[start:end] = ZERO
        for row in range(rows):
            for i in range(width):
                by_biases[i] += slope[row, i]
        columns = inputs.T.copy()
        for j in range(before):
            add_rows(by_weights[j], slope, columns[j])
        if number > 1:
            transposed = parameters[start:split].reshape(before, width).T.copy()  # [outputs, inputs]
            below = slopes[lower:begin].reshape(rows, before)
            below[:] = ZERO
            for row in range(rows):
                add_rows(below[row], transposed, slope[row])
                for j in range(before):
                    below[row, j] = below[row, j] if inputs[row, j] > 0 else ZERO
        end, stop = start, begin


@compiled
def take_step(
    parameters: Floats, squares: Floats, gradient: Floats, learning_rate: float, decay: float, epsilon: float
) -> bool:
    """RMSprop with ε inside the root: m ← ρ m + (1 − ρ) g², θ ← θ − η g/√(m + ε).

    False, and nothing is changed, unless all numbers of the gradient are finite and float32 can hold their squares, and
    no weight would become too large to be saved.
    """
    rate, kept, new, small = np.float32(learning_rate), np.float32(decay), np.float32(1 - decay), np.float32(epsilon)
    wrong = 0
    for i in range(len(gradient)):
        wrong += not abs(gradient[i]) <= STEEPEST
    if wrong:
        return False
    moved = np.empty_like(parameters)
    for i in range(len(parameters)):
        mean = kept * squares[i] + new * gradient[i] * gradient[i]
        mean = mean if mean > TINY else ZERO  # a denormal, which does not change the root, takes much longer
        moved[i] = parameters[i] - rate * gradient[i] / np.sqrt(mean + small)
        wrong += not abs(moved[i]) <= HEAVIEST
    if wrong:
        return False
    for i in range(len(parameters)):
        mean = kept * squares[i] + new * gradient[i] * gradient[i]
        squares[i] = mean if mean > TINY else ZERO
        parameters[i] = moved[i]
    return True


NO_SUMS: Doubles = np.zeros(0)  # handed to a learning step of which nothing is to be noted


@compiled
def add_to(sums: Doubles, loss: float, gradient: Floats) -> None:
    """Add 1, the loss and the norm of the gradient of a learning step to sums, unless there are none."""
    if len(sums):
        total = 0.0
        for slope in gradient:
            total += np.float64(slope) * slope
        sums[0] += 1
        sums[1] += loss
        sums[2] += np.sqrt(total)


class Dense:
    """A network of linear layers with ReLUs between: one array of parameters, and what it looks like in a file.

    Args:
        widths: Of the input and of every layer's output.
        names: Of weights and biases in a file, in turn; by default their numbers.
    """

    def __init__(self, widths: Sequence[int], names: Sequence[str] = ()) -> None:
        self.widths = np.array(widths, np.int64)
        self.outputs = int(self.widths[-1])
        self._all_outputs = int(self.widths[1:].sum())
        self.parameters = np.zeros(int((self.widths[:-1] * self.widths[1:] + self.widths[1:]).sum()), np.float32)
        self.names = list(names) or [str(number) for number in range(2 * (len(widths) - 1))]

    def draw(self, rng: np.random.Generator) -> None:
        """Draw all weights and biases, uniformly from ±1/√inputs."""
        for part, inputs in self._parts(self.parameters):
            part[...] = rng.uniform(-1, 1, part.shape) / np.sqrt(inputs)

    def __call__(self, x: Floats) -> Floats:
        """[B, inputs] → [B, outputs]."""
        return self.last(self.run(x), len(x))

    def run(self, x: Floats) -> Floats:
        """What every layer gives for the rows of x, the layers one after the other."""
        layers = self.room(len(x))
        forward(self.parameters, self.widths, x, layers)
        return layers

    def room(self, rows: int) -> Floats:
        """Room for what every layer gives for so many rows."""
        return np.empty(rows * self._all_outputs, np.float32)

    def last(self, layers: Floats, rows: int) -> Floats:
        """The last of all layers, [rows, outputs]."""
        return layers[len(layers) - rows * self.outputs :].reshape(rows, self.outputs)

    def _parts(self, flat: Floats) -> Iterator[tuple[Floats, int]]:
        """Views of an array as long as the parameters: weights [inputs, outputs] and biases of each layer in turn."""
        at = 0
        for inputs, outputs in zip(self.widths[:-1].tolist(), self.widths[1:].tolist(), strict=True):
            yield flat[at : at + inputs * outputs].reshape(inputs, outputs), inputs
            at += inputs * outputs
            yield flat[at : at + outputs], inputs
            at += outputs

    def arrays(self, flat: Floats) -> list[Floats]:
        """Views of an array as long as the parameters: weights [outputs, inputs] and biases of each layer in turn."""
        return [part.T for part, _ in self._parts(flat)]

    def state_dict(self) -> dict[str, Any]:
        """Weights and biases, by name."""
        return {name: array.copy() for name, array in zip(self.names, self.arrays(self.parameters), strict=True)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for name, array in zip(self.names, self.arrays(self.parameters), strict=True):
            array[...] = check_fit(state[name], array.shape)

    def check_valid(self) -> None:
        """Raise InvalidInputError unless every weight is one that can be saved and loaded."""
        require_sound(bool((np.abs(self.parameters) <= LARGEST_WEIGHT).all()))


def as_rows(observations: Array, width: int) -> Floats:
    """A batch of vectors of this length as an array that a kernel can take; bytes are scaled to [0, 1]."""
    rows = np.ascontiguousarray(observations, np.float32)
    rows = rows if rows.flags.writeable else rows.copy()  # kernels are compiled for arrays that can be written to
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InvalidInputError(f"the network takes vectors [batch, {width}], got an array of shape {rows.shape}")
    return rows / np.float32(255) if observations.dtype == np.uint8 else rows
