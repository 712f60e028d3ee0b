"""What a network is: a recipe for layers that turn encoded observations into features."""

from collections.abc import Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.parts import Part

if TYPE_CHECKING:
    import torch

WIDEST = 65_536  # numbers in a key or a layer that a setting or an option may ask for
COPIES = (
    6  # of each weight: online and target network, gradient, average of squares, what is compiled, and one to spare
)


class Network(Part):
    """The recipe for the network of NEC or D3QN: from the shape of an observation and the number of features to give.

    To write your own, derive from this class and define one of two methods. `widths` describes linear layers with ReLUs
    between: those are compiled, and need no PyTorch on the CPU. `make` makes any PyTorch module. The heads are the
    agent's own: NEC takes the features as the key, D3QN puts its Q-values behind them.
    """

    def widths(self, shape: tuple[int, ...], size: int) -> Sequence[int] | None:
        """The lengths of the input and of what each linear layer gives, the last being `size`; None: see `make`."""
        return None

    def make(self, shape: tuple[int, ...], size: int) -> "torch.nn.Module":
        """A module that maps float32 [B, …] of that shape to [B, size]; bytes come in scaled to [0, 1]."""
        widths = checked_widths(self, shape, size)
        if widths is None:
            raise NotImplementedError(f"the network {self.name!r} must define make(shape, size) or widths(shape, size)")
        from engram.devices import torch  # noqa: PLC0415 (an extra)

        linear = [torch.nn.Linear(inputs, outputs) for inputs, outputs in pairwise(widths)]
        between = [torch.nn.ReLU() for _ in linear[1:]]
        return torch.nn.Sequential(*(layer for pair in zip_longest(linear, between) for layer in pair if layer))


def checked_widths(network: Network, shape: tuple[int, ...], size: int) -> tuple[int, ...] | None:
    """The widths of a network's layers, if it has them and they lead from vectors of this shape to so many features."""
    given: Any = network.widths(shape, size)
    if given is None:
        return None
    name = f"widths of the network {network.name!r}"
    widths = [checks.at_least(name, width, 1, WIDEST if number else None) for number, width in enumerate(given)]
    if len(widths) < 2 or (widths[0],) != shape or widths[-1] != size:
        raise InvalidInputError(
            f"the network {network.name!r} must lead from observations of shape {shape} to {size} features, "
            f"but its widths are {widths}"
        )
    require_weights(sum(inputs * outputs for inputs, outputs in pairwise(widths)), "width")
    return tuple(widths)


def make_module(
    network: Network, shape: tuple[int, ...], size: int, generator: np.random.Generator
) -> "torch.nn.Module":
    """A network's module, with weights that the generator determines; PyTorch's own generator is left as it was."""
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator.integers(2**63)))
        module: Any = network.make(shape, size)
    if not isinstance(module, torch.nn.Module):
        raise InvalidInputError(
            f"make of the network {network.name!r} must return a torch.nn.Module, got {module!r:.100}"
        )
    module.eval()  # dropout would draw from a generator that is not the agent's
    if next(module.buffers(), None) is not None:
        raise InvalidInputError(
            f"the network {network.name!r} has buffers, as batch normalisation does; use layers that have only "
            "parameters, for example LayerNorm"
        )
    check_features(network, module, shape, size)
    return module


def check_features(network: Network, module: Any, shape: tuple[int, ...], size: int) -> None:
    """Raise InvalidInputError, naming the network, unless it gives so many numbers for observations of a shape."""
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    for count in (1, 2):
        try:
            with torch.no_grad():
                given: Any = module(torch.zeros(count, *shape))
        except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
            raise InvalidInputError(
                f"the network {network.name!r} cannot take {count} observations of shape {shape}: {error}"
            ) from error
        found = tuple(getattr(given, "shape", ()))
        if found != (count, size) or given.dtype != torch.float32:
            raise InvalidInputError(
                f"the network {network.name!r} must give float32 [batch, {size}], gave {list(found)} of "
                f"{getattr(given, 'dtype', type(given))} for {count}"
            )
        if not bool(torch.isfinite(given).all()):
            raise InvalidInputError(f"the network {network.name!r} must give finite numbers, gave {given!r:.200}")


def require_weights(count: int, setting: str) -> None:
    """Raise InvalidInputError, naming the setting, unless there is memory for so many weights and what learns them."""
    checks.room(COPIES * 4 * count, f"a network with {count:,} weights", lambda _: f"choose a smaller {setting}")
