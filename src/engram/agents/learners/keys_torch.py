"""NEC's network and its learning step with PyTorch: for images, GPUs and networks of one's own."""

from typing import Any

import numpy as np

from engram.agents.learners.front import Front
from engram.agents.learners.key_settings import KeySettings, checked, learn_entries
from engram.agents.learners.rmsprop_torch import RMSprop, check_gradients
from engram.devices import check_weights, put, torch
from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.networks import Network, make_module
from engram.networks.inputs import as_input
from engram.replay.returns import ReturnBatch
from engram.typing import Array, Floats


class TorchKeys:
    """Observations to keys, and how the network learns where to put them.

    PyTorch's rounding depends on the batch.
    """

    def __init__(
        self, front: Front, network: Network, settings: KeySettings, rng: np.random.Generator, device: str
    ) -> None:
        self.front, self.settings, self.device = front, settings, torch.device(device)
        self.module = make_module(network, front.shape, settings.key_size, rng).to(self.device)
        self.optimiser = RMSprop(
            self.module.parameters(),
            learning_rate=settings.learning_rate,
            decay=settings.rmsprop_decay,
            epsilon=settings.rmsprop_epsilon,
        )

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

    def moved(self, keys: Floats) -> torch.Tensor:
        """Keys in the form that calls return on a GPU."""
        return torch.from_numpy(keys.copy()).to(self.device)

    def check_valid(self) -> None:
        """Raise InvalidInputError unless every weight is one that can be saved and loaded."""
        check_weights(self.module.parameters())

    def state_dict(self) -> dict[str, Any]:
        """The network's weights, by name."""
        return dict(self.module.state_dict())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for name, weight in self.module.named_parameters():
            put(weight, state[name])

    def learn(self, batch: ReturnBatch, memory: EpisodicMemory) -> None:
        """One step of RMSprop on the mean of (Q(s, a) − R)² over a batch of remembered states."""
        h = self.forward(batch.observations)
        looked_up = h.detach() if h.is_cuda else checked(h.detach().numpy())
        near = memory.look_up(batch.actions, looked_up, touch=True)
        usable = near.found > 0  # an empty table predicts 0 whatever the network says
        if not usable.all():
            if not usable.any():
                return
            h = h[torch.from_numpy(usable).to(self.device)]
        found, slots = near.found[usable], near.slots[usable].astype(np.int64)
        there = np.arange(slots.shape[1]) < found[:, None]  # [B, k]
        target = torch.from_numpy(batch.returns[usable]).to(self.device)
        mask = torch.from_numpy(there.astype(np.float32)).to(self.device)
        keys, values = (torch.as_tensor(part[usable], device=self.device) for part in (near.keys, near.values))
        if self.settings.learn_memory:
            entries = np.where(there, batch.actions[usable][:, None] * self.settings.capacity + slots, -1)
            self._learn_with_entries(memory, entries, h, keys, values, mask, target)
            return
        loss = (estimate(h, keys, values, mask, self.settings.delta) - target).square().mean()
        self.optimiser.step(torch.autograd.grad(loss, self.optimiser.parameters))

    def _learn_with_entries(
        self,
        memory: EpisodicMemory,
        entries: Array,
        h: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        mask: torch.Tensor,
        target: torch.Tensor,
    ) -> None:
        """The same step, for the neighbours too; an entry may be one of several states: its gradients add up."""
        unique, first, back = np.unique(entries, return_index=True, return_inverse=True)
        place = torch.from_numpy(back.reshape(entries.shape)).to(self.device)
        chosen = torch.from_numpy(first).to(self.device)
        entry_keys = keys.reshape(-1, self.settings.key_size)[chosen].requires_grad_()
        entry_values = values.reshape(-1)[chosen].requires_grad_()
        q = estimate(h, entry_keys[place], entry_values[place], mask, self.settings.delta)
        loss = (q - target).square().mean()
        *gradients, by_keys, by_values = torch.autograd.grad(
            loss, [*self.optimiser.parameters, entry_keys, entry_values]
        )
        check_gradients([by_keys, by_values])
        self.optimiser.step(gradients)
        real = unique >= 0
        gradient = torch.cat([by_keys, by_values[:, None]], 1).cpu().numpy()[real]
        numbers = torch.cat([entry_keys, entry_values[:, None]], 1).detach().cpu().numpy()[real]
        learn_entries(memory, self.settings, unique[real], numbers, gradient)


def estimate(
    h: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, there: torch.Tensor, delta: float
) -> torch.Tensor:
    """Q(s, a) = Σ wᵢ Qᵢ / Σ wᵢ, wᵢ = 1/(‖h − hᵢ‖² + δ), through which gradients flow to h, hᵢ and Qᵢ.

    h [B, d], keys [B, k, d], values [B, k]; `there` [B, k] is 0 where a table had fewer entries than k.
    """
    distances = (h.unsqueeze(1) - keys).square().sum(2)  # [B, k]
    weights = there / (distances + delta)
    return (weights * values).sum(1) / weights.sum(1)
