"""D3QN's networks and its learning step with PyTorch: for images, GPUs and networks of one's own."""

from typing import Any

import numpy as np

from engram.agents.learners.front import Front
from engram.agents.learners.q_settings import QSettings, combination
from engram.agents.learners.rmsprop_torch import RMSprop
from engram.devices import check_weights, put, torch
from engram.errors import InvalidInputError
from engram.networks import Network, make_module
from engram.networks.inputs import as_input
from engram.replay.transitions import Batch
from engram.typing import Array, Floats


class QNetwork:
    """Q of every action: a network's features, ReLU, and one linear layer of heads, V and A if dueling, otherwise Q."""

    def __init__(
        self,
        front: Front,
        network: Network,
        actions: int,
        settings: QSettings,
        rng: np.random.Generator,
        device: torch.device,
    ) -> None:
        features = make_module(network, front.shape, settings.feature_size, rng)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            heads = torch.nn.Linear(settings.feature_size, settings.dueling + actions)
        self.front, self.device = front, device
        self._layers = torch.nn.Sequential(features, torch.nn.ReLU(), heads).to(device)
        self.parameters = list(self._layers.parameters())
        self._combination = torch.from_numpy(combination(actions, settings.dueling)).to(device)

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, actions], without gradients."""
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


class TorchQ:
    """The network Q, its target network Q', and how Q learns."""

    def __init__(
        self,
        front: Front,
        network: Network,
        actions: int,
        settings: QSettings,
        rng: np.random.Generator,
        device: str,
    ) -> None:
        self.settings, where = settings, torch.device(device)
        drawn = rng.bit_generator.state
        self.online = QNetwork(front, network, actions, settings, rng, where)
        rng.bit_generator.state = drawn  # both networks begin with the same weights
        self.target = QNetwork(front, network, actions, settings, rng, where)
        self.optimiser = RMSprop(
            self.online.parameters,
            learning_rate=settings.learning_rate,
            decay=settings.rmsprop_decay,
            epsilon=settings.rmsprop_epsilon,
        )

    def __call__(self, observations: Array) -> Floats:
        """Q of every action, [B, …] → [B, actions]."""
        return self.online(observations)

    def renew_target(self) -> None:
        """Make the target network equal to the network."""
        self.target.copy(self.online)

    def learn(self, batch: Batch) -> None:
        """One step of RMSprop on the Huber loss between Q(s, a) and the targets, summed over the batch."""
        online = self.online
        targets = torch.from_numpy(self.targets(batch)[:, None]).to(online.device)  # [B, 1]
        actions = torch.from_numpy(batch.actions[:, None]).to(online.device)
        taken = online.forward(batch.observations).gather(1, actions)  # Q(s, a), [B, 1]
        loss = torch.nn.functional.huber_loss(taken, targets, reduction="sum")
        self.optimiser.step(torch.autograd.grad(loss, online.parameters))

    def targets(self, batch: Batch) -> Floats:
        """y = r + γ Q'(s', argmaxₐ Q(s', a)), or r + γ maxₐ Q'(s', a) if not double; nothing follows an end. [B]."""
        settings = self.settings
        following = self.target(batch.next_observations)  # Q'(s', ·), [B, actions]
        choosing = self.online(batch.next_observations) if settings.double else following
        value: Floats = following[np.arange(len(following)), choosing.argmax(axis=1)]
        value[settings.ended(batch)] = 0
        value *= np.float32(settings.discount)
        value += batch.rewards
        return value
