"""NEC's network and its learning step with PyTorch: for images, GPUs and networks of one's own."""

from typing import Any

import numpy as np

from engram.agents.learners.feeds import Sent, encoded, kind_of, source_for
from engram.agents.learners.front import Front
from engram.agents.learners.key_settings import KeySettings, checked, learn_entries
from engram.agents.learners.rmsprop_torch import RMSprop, is_summable
from engram.devices import check_weights, put, torch
from engram.memory import EpisodicMemory
from engram.memory.probe import Near
from engram.networks import Network, make_module
from engram.networks.inputs import as_input
from engram.recording import Exchange, Recorded, Recordings
from engram.replay.returns import ReturnBatch
from engram.typing import Array, Floats, Longs


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
        self._steps: Recordings[KeyStep] = Recordings()

    @property
    def settled(self) -> bool:
        """Whether the encoder in front has settled; the network goes on learning."""
        return self.front.settled

    def update(self, observation: Array) -> None:
        """Show the encoder in front the observation of a training step."""
        self.front.update(observation)

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, key_size]."""
        with torch.no_grad():
            keys = self.module(as_input(torch.tensor(encoded(self.front, observations)), self.device))
        return checked(keys.cpu().numpy())

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
        like = encoded(self.front, batch.observations)
        key = id(memory), kind_of(like)
        self._steps.get(key, lambda: KeyStep(self, memory, like)).learn(batch, like)


class KeyStep:
    """A learning step with batches of one kind, recorded."""

    def __init__(self, network: TorchKeys, memory: EpisodicMemory, like: Any) -> None:
        self._network, self._memory, device, size = network, memory, network.device, len(like)
        self._observations = source_for(1, like, device)
        self._probe: Any = memory.probe_each(size) or HostProbe(memory)
        self._returns = Exchange(device, {"returns": ((size,), np.float32)})
        self._result = Exchange(device, {"diverged": ((), np.bool_)})
        near = size, min(memory.neighbours, memory.capacity)
        rows = {"keys": ((*near, memory.key_size), np.float32), "values": (near, np.float32)}
        slopes = {f"by_{name}": field for name, field in rows.items()}
        self._entries = Exchange(device, rows | slopes) if network.settings.learn_memory else None
        self._recorded = Recorded(self._work, device, changes=network.optimiser.state, possible=self._probe.recordable)

    def learn(self, batch: ReturnBatch, observations: Any) -> None:
        """Take the step with a batch whose observations are encoded."""
        self._observations.take(observations)
        self._returns.here["returns"][:] = batch.returns
        self._probe.aim(batch.actions)
        self._recorded()
        self._recorded.wait()
        if self._result.here["diverged"]:
            self._network.optimiser.check_valid()
        self._probe.touch()
        if self._entries is not None:
            self._learn_entries(self._entries.here)

    def _work(self) -> None:
        """The network, the search, the gradient and RMSprop."""
        network, optimiser, entries = self._network, self._network.optimiser, self._entries
        self._returns.send()
        h = network.module(self._observations()[0])
        keys, values, there, usable = self._probe.find(h.detach())
        learned = [] if entries is None else [keys.requires_grad_(), values.requires_grad_()]
        present = there.amax(1)  # [B], 0 for an empty table, which predicts 0 whatever the network says
        q = estimate(h, keys, values, there, network.settings.delta)
        errors = (q - self._returns.there["returns"]) * present
        loss = errors.square().sum() / present.sum().clamp(min=1)
        gradients = torch.autograd.grad(loss, [*optimiser.parameters, *learned])
        slopes = gradients[len(optimiser.parameters) :]
        for slope in slopes:
            usable = usable & is_summable(slope)
        optimiser.step(gradients[: len(optimiser.parameters)], sound=usable, due=present.any() | ~usable)
        self._result.there["diverged"].copy_(optimiser.diverged)
        self._result.fetch()
        if entries is not None:
            for name, tensor in zip(("keys", "values", "by_keys", "by_values"), (*learned, *slopes), strict=True):
                entries.there[name].copy_(tensor.detach())
            entries.fetch()

    def _learn_entries(self, near: dict[str, Array]) -> None:
        """The same step for the neighbours; an entry may be one of several states: its gradients add up."""
        unique, first, back = np.unique(self._probe.entries(), return_index=True, return_inverse=True)
        rows = {
            name: np.concatenate([near[f"{name}keys"], near[f"{name}values"][..., None]], 2).reshape(back.size, -1)
            for name in ("", "by_")
        }
        gradients = np.zeros((len(unique), rows["by_"].shape[1]), np.float32)
        np.add.at(gradients, back.reshape(-1), rows["by_"])
        real = unique >= 0
        if real.any():
            numbers = rows[""][first]
            learn_entries(self._memory, self._network.settings, unique[real], numbers[real], gradients[real])


class HostProbe:
    """As `engram.memory.probe.ProbeEach`, for a memory in main memory."""

    recordable = False

    def __init__(self, memory: EpisodicMemory) -> None:
        self._memory = memory
        self._actions = self._entries = np.zeros(0, np.int64)

    def aim(self, actions: Longs) -> None:
        """Say in which tables to search, [B]."""
        self._actions = actions

    def find(self, queries: torch.Tensor) -> Near:
        """Search for queries [B, key_size], which counts as use; keys and values of what is near."""
        slots, found, keys, values = self._memory.look_up(self._actions, checked(queries.numpy()), touch=True)
        there = np.arange(slots.shape[1]) < found[:, None]  # [B, k]
        self._entries = np.where(there, self._actions[:, None] * self._memory.capacity + slots, -1)
        mask = torch.from_numpy(there.astype(np.float32))
        return Near(torch.from_numpy(keys), torch.from_numpy(values), mask, torch.tensor(True))

    def touch(self) -> None:
        """Nothing: looking up has told the strategy."""

    def entries(self) -> Longs:
        """What was found as action × capacity + slot, −1 for nothing, [B, k]."""
        return self._entries


class KeyGlance:
    """The key of one observation and its neighbours in all tables of a memory on a device, in one launch."""

    def __init__(self, network: TorchKeys, memory: EpisodicMemory) -> None:
        self._network, self._memory = network, memory
        self._views: Recordings[KeyView] = Recordings()
        self._found: Any = None

    def __call__(self, observation: Array) -> Floats:
        """The key, [1, key_size]."""
        batch = encoded(self._network.front, observation[None])
        view = self._views.get(kind_of(batch), lambda: KeyView(self._network, self._memory, batch))
        keys, self._found = view(batch)
        return keys

    def read(self) -> Floats:
        """Q of every action at that key, [1, actions], which counts as use."""
        return self._memory.read_found(self._found)


class KeyView:
    """What `KeyGlance` does for observations of one kind, recorded."""

    def __init__(self, network: TorchKeys, memory: EpisodicMemory, like: Array) -> None:
        self._network, self._source = network, Sent(1, like, network.device)
        self._probe: Any = memory.probe_all(1)
        self._key = Exchange(network.device, {"key": ((1, memory.key_size), np.float32)})
        self._recorded = Recorded(self._work, network.device, possible=self._probe.recordable)

    def __call__(self, batch: Array) -> tuple[Floats, Any]:
        """The key of an encoded observation [1, …], and what was found."""
        self._source.take(batch)
        self._probe.aim()
        self._recorded()
        self._recorded.wait()
        return checked(self._key.here["key"].copy()), self._probe.found()

    @torch.no_grad()
    def _work(self) -> None:
        key = self._network.module(self._source()[0])
        self._probe.find(key)
        self._key.there["key"].copy_(key)
        self._key.fetch()


def estimate(
    h: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, there: torch.Tensor, delta: float
) -> torch.Tensor:
    """Q(s, a) = Σ wᵢ Qᵢ / Σ wᵢ, wᵢ = 1/(‖h − hᵢ‖² + δ), through which gradients flow to h, hᵢ and Qᵢ.

    h [B, d], keys [B, k, d], values [B, k]; `there` [B, k] is 0 where a table had fewer entries than k. Without any
    entry it is 0.
    """
    distances = (h.unsqueeze(1) - keys).square().sum(2)  # [B, k]
    weights = there / (distances + delta)
    total = weights.sum(1)
    return (weights * values).sum(1) / (total + (total == 0))
