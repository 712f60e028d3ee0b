"""NEC's way from observations to keys: an encoder in front, if one was chosen, and a network that learns."""

from typing import Any

from engram.agents.common.front import Front
from engram.devices import check_weights, put, torch
from engram.errors import DivergedError, InvalidInputError
from engram.memory.arguments import KEY_LIMIT, all_usable
from engram.networks.inputs import as_input
from engram.networks.layers import CompiledLayers
from engram.typing import Array, Floats


class KeyNetwork:
    """Observations to keys, without gradients when called, with gradients by `forward`.

    Small networks for vectors go through compiled layers on the CPU: the same observation under the same weights has
    the same bits alone and in a batch. Everything else goes through PyTorch, whose rounding depends on the batch.
    """

    def __init__(self, front: Front, module: torch.nn.Module, device: torch.device) -> None:
        self.front, self.module, self.device = front, module.to(device), device
        self._compiled = CompiledLayers(self.module) if CompiledLayers.fits(self.module) else None

    @property
    def settled(self) -> bool:
        """Whether the encoder in front has settled; the network goes on learning."""
        return self.front.settled

    def update(self, observation: Array) -> None:
        """Show the encoder in front the observation of a training step."""
        self.front.update(observation)

    def __call__(self, observations: Array) -> Any:
        """[B, …] → [B, key_size]: NumPy on the CPU, a tensor on a GPU."""
        encoded = self.front(observations)
        if self._compiled is not None:
            return checked(self._compiled(encoded))
        with torch.no_grad():
            keys = self.forward_encoded(encoded)
        return checked(keys.numpy()) if self.device.type == "cpu" else keys

    def forward(self, observations: Array) -> torch.Tensor:
        """[B, …] → [B, key_size], with gradients."""
        return self.forward_encoded(self.front(observations))

    def forward_encoded(self, encoded: Array) -> torch.Tensor:
        """Encoded observations through the module."""
        if encoded.shape[1:] != self.front.shape:
            raise InvalidInputError(
                f"the network takes [batch, {self.front.shape}], got an array of shape {encoded.shape}"
            )
        keys: torch.Tensor = self.module(as_input(encoded, self.device))
        return keys

    def check_valid(self) -> None:
        """Raise InvalidInputError unless every weight is one that can be saved and loaded."""
        check_weights(self.module.parameters())

    def weights_changed(self) -> None:
        """To be called after each change of the network's weights."""
        if self._compiled is not None:
            self._compiled.weights_changed()

    def state_dict(self) -> dict[str, Any]:
        """The network's weights, by name."""
        return dict(self.module.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for name, weight in self.module.named_parameters():
            put(weight, state[name])
        self.weights_changed()


def checked(keys: Floats) -> Floats:
    """Keys that a memory can take; DivergedError if a number of them is not finite or too large."""
    if not all_usable(keys):
        raise DivergedError(
            f"the network gives keys that are not finite or beyond ±{KEY_LIMIT:g}; choose a smaller learning_rate"
        )
    return keys
