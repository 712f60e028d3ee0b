"""Frozen: any PyTorch module as a fixed encoder, for example one that was trained elsewhere (the extra `torch`)."""

from copy import deepcopy
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from typing import Any, Self, cast

import numpy as np

from engram.encoders.base import Encoder
from engram.errors import InvalidInputError
from engram.parts import Spaces
from engram.typing import Array, Floats


@dataclass
class Frozen(Encoder):
    """Keys are the outputs of a module in evaluation mode, without gradients, flattened.

    Observations go through it one at a time, because PyTorch's rounding depends on the size of a batch. No weights are
    stored in an agent's file, only their digest: the same module has to be given again when the file is loaded.
    """

    module: Any  # a torch.nn.Module, or `package:function` that returns one

    name = "frozen"
    restorable = False  # its module is not in the file

    def __post_init__(self) -> None:
        self._network = find_module(self.module)

    @property
    def options(self) -> dict[str, Any]:
        """None that plain data could hold: the module is told by its source."""
        return {}

    def describe(self) -> dict[str, Any]:
        """The name, and a digest of the module's structure and weights."""
        digest = sha256(str(self._network).encode())
        for name, weight in sorted(self._network.state_dict().items()):
            digest.update(name.encode() + np.ascontiguousarray(weight.cpu().numpy()).tobytes())
        return {"name": self.name, "source": digest.hexdigest()[:12]}

    def spec(self) -> str:
        """As on a command line, where the module was named there."""
        return f"frozen:module={self.module}" if isinstance(self.module, str) else "frozen:module=package:function"

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        """An encoder with a copy of the module, for observations of this shape."""
        built = type(self)(deepcopy(self._network).eval().cpu().requires_grad_(False))
        example = np.zeros((1, *spaces.observation_shape), spaces.observation_dtype)
        try:
            built.key_size = int(built._encode(example).size)
        except (RuntimeError, ValueError, TypeError) as error:
            raise InvalidInputError(
                f"the frozen module cannot take observations of shape {spaces.observation_shape}: {error}"
            ) from error
        return built

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, key_size]."""
        keys = np.empty((len(observations), self.key_size), np.float32)
        for row in range(len(observations)):
            keys[row] = self._encode(observations[row : row + 1])
        return keys

    def _encode(self, observation: Array) -> Floats:
        from engram.devices import torch  # noqa: PLC0415 (an extra)
        from engram.networks.inputs import as_input  # noqa: PLC0415

        with torch.no_grad():
            return cast(
                Floats, self._network(as_input(observation.copy(), torch.device("cpu"))).float().numpy().ravel()
            )


def find_module(given: Any) -> Any:
    """A module as given, or from `package:function`."""
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    if isinstance(given, str) and given.count(":") == 1:
        package, _, function = given.partition(":")
        try:
            given = getattr(import_module(package), function)()
        except (ImportError, AttributeError) as error:
            raise InvalidInputError(f"cannot make a module from {given!r}: {error}") from error
    if not isinstance(given, torch.nn.Module):
        raise InvalidInputError(
            f"module must be a torch.nn.Module, or package:function that returns one, got {given!r}"
        )
    return given
