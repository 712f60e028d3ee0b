"""D3QN's network: features, and one linear layer of heads on top of them."""

from typing import Any

import numpy as np

from engram.agents.common.front import Front
from engram.devices import check_weights, put, torch
from engram.errors import InvalidInputError
from engram.networks import Network, make_module
from engram.networks.inputs import as_input
from engram.networks.layers import CompiledLayers
from engram.typing import Array, Floats


class QNetwork:
    """Q of every action: a network's features, ReLU, and one linear layer of heads, V and A if dueling, otherwise Q.

    Without gradients, small networks for vectors go through compiled layers on the CPU: the same observation under the
    same weights has the same bits alone and in a batch. All else goes through PyTorch, whose rounding depends on the
    batch.
    """

    def __init__(
        self,
        front: Front,
        network: Network,
        actions: int,
        *,
        feature_size: int,
        dueling: bool,
        rng: np.random.Generator,
        device: torch.device,
    ) -> None:
        features = make_module(network, front.shape, feature_size, rng)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            heads = torch.nn.Linear(feature_size, dueling + actions)
        self.front, self.device = front, device
        self._layers = torch.nn.Sequential(features, torch.nn.ReLU(), heads).to(device)
        self.parameters = list(self._layers.parameters())
        to_q = combination(actions, dueling)
        self._combination = torch.from_numpy(to_q).to(device)
        self._compiled = CompiledLayers(self._layers, to_q) if CompiledLayers.fits(self._layers) else None

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, actions], without gradients."""
        if self._compiled is not None:
            return self._compiled(self.front(observations))
        with torch.no_grad():
            found: Floats = self.forward(observations).cpu().numpy()
        return found

    def forward(self, observations: Array) -> torch.Tensor:
        """[B, …] → [B, actions], with gradients."""
        encoded = self.front(observations)
        if encoded.shape[1:] != self.front.shape:
            raise InvalidInputError(
                f"the network takes [batch, {self.front.shape}], got an array of shape {encoded.shape}"
            )
        batch = torch.tensor(encoded)  # a copy in PyTorch's own memory, which is aligned: the same bits every run
        heads: torch.Tensor = self._layers(as_input(batch, self.device))
        return heads @ self._combination

    def weights_changed(self) -> None:
        """To be called after each change of the parameters."""
        if self._compiled is not None:
            self._compiled.weights_changed()

    def check_valid(self) -> None:
        """Raise InvalidInputError unless every weight is one that can be saved and loaded."""
        check_weights(self.parameters)

    def copy(self, other: "QNetwork") -> None:
        """Become equal to another one."""
        self.load_state_dict(other.state_dict())

    def state_dict(self) -> dict[str, Any]:
        """The parameters, by number."""
        return {str(number): weight.detach().cpu().numpy().copy() for number, weight in enumerate(self.parameters)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for number, weight in enumerate(self.parameters):
            put(weight, state[str(number)])
        self.weights_changed()


def combination(actions: int, dueling: bool) -> Floats:
    """The matrix that makes Q of the heads V and A, [1 + actions, actions]: Q = V + A − mean A. If not dueling, 1."""
    if not dueling:
        return np.eye(actions, dtype=np.float32)
    return np.vstack([np.ones(actions), np.eye(actions) - 1 / actions]).astype(np.float32)
