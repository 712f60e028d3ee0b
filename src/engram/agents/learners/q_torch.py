"""D3QN's networks and its learning step with PyTorch: for images, GPUs and networks of one's own."""

from typing import Any

import numpy as np

from engram.agents.learners.feeds import Sent, encoded, kind_of, source_for
from engram.agents.learners.front import Front
from engram.agents.learners.q_settings import QSettings, combination
from engram.agents.learners.rmsprop_torch import RMSprop
from engram.devices import check_weights, put, torch
from engram.networks import Network, make_module
from engram.networks.inputs import as_input
from engram.recording import Exchange, Recorded, Recordings
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
        self.front, self.device, self.actions = front, device, actions
        self._layers = torch.nn.Sequential(features, torch.nn.ReLU(), heads).to(device)
        self.parameters: list[torch.Tensor] = list(self._layers.parameters())
        self._combination = torch.from_numpy(combination(actions, settings.dueling)).to(device)
        self._glances: Recordings[Glance] = Recordings()

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, actions], without gradients; one observation alone, as in acting, in one launch."""
        batch = encoded(self.front, observations)
        if len(batch) == 1:
            return self._glances.get(kind_of(batch), lambda: Glance(self, batch))(batch)
        with torch.no_grad():
            found: Floats = self.forward(as_input(torch.tensor(batch), self.device)).cpu().numpy()
        return found

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Encoded observations on the device [B, …] → [B, actions], with gradients."""
        heads: torch.Tensor = self._layers(batch)
        return heads @ self._combination

    def check_valid(self) -> None:
        """Raise InvalidInputError unless every weight is one that can be saved and loaded."""
        check_weights(self.parameters)

    @torch.no_grad()
    def copy(self, other: "QNetwork") -> None:
        """Become equal to another one on the same device."""
        torch._foreach_copy_(self.parameters, other.parameters)

    def state_dict(self) -> dict[str, Any]:
        """The parameters, by number."""
        return {str(number): weight.detach().cpu().numpy().copy() for number, weight in enumerate(self.parameters)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        for number, weight in enumerate(self.parameters):
            put(weight, state[str(number)])


class Glance:
    """From an observation in main memory to its Q-values there, recorded."""

    def __init__(self, network: QNetwork, like: Array) -> None:
        self._network, self._source = network, Sent(1, like, network.device)
        self._values = Exchange(network.device, {"q": ((1, network.actions), np.float32)})
        self._recorded = Recorded(self._work, network.device)

    def __call__(self, batch: Array) -> Floats:
        """[1, …], encoded → [1, actions]."""
        self._source.take(batch)
        self._recorded()
        self._recorded.wait()
        return self._values.here["q"].copy()

    @torch.no_grad()
    def _work(self) -> None:
        self._values.there["q"].copy_(self._network.forward(self._source()[0]))
        self._values.fetch()


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
        self.front, self.settings, self.device = front, settings, torch.device(device)
        drawn = rng.bit_generator.state
        self.online = QNetwork(front, network, actions, settings, rng, self.device)
        rng.bit_generator.state = drawn  # both networks begin with the same weights
        self.target = QNetwork(front, network, actions, settings, rng, self.device)
        self.optimiser = RMSprop(
            self.online.parameters,
            learning_rate=settings.learning_rate,
            decay=settings.rmsprop_decay,
            epsilon=settings.rmsprop_epsilon,
        )
        self._steps: Recordings[QStep] = Recordings()

    def __call__(self, observations: Array) -> Floats:
        """Q of every action, [B, …] → [B, actions]."""
        return self.online(observations)

    def renew_target(self) -> None:
        """Make the target network equal to the network."""
        self.target.copy(self.online)

    def learn(self, batch: Batch) -> None:
        """One step of RMSprop on the Huber loss between Q(s, a) and the targets, summed over the batch.

        On a GPU the step is only begun. If it cannot be taken, the next one says so, or whatever saves the agent.
        """
        self._step_for(batch).learn(batch)

    def targets(self, batch: Batch) -> Floats:
        """The targets of a batch, [B]."""
        step = self._step_for(batch)
        step.take(batch)
        _, following = step.inputs()
        found: Floats = step.targets(following).cpu().numpy().copy()
        return found

    def _step_for(self, batch: Batch) -> "QStep":
        like = encoded(self.front, batch.observations)
        return self._steps.get(kind_of(like), lambda: QStep(self, like))


class QStep:
    """A learning step with batches of one kind, recorded."""

    def __init__(self, learner: TorchQ, like: Any) -> None:
        self._learner, device, size = learner, learner.device, len(like)
        self._observations = source_for(2, like, device)
        fields = {"actions": ((size,), np.int64), "rewards": ((size,), np.float32), "ended": ((size,), np.bool_)}
        self._batch = Exchange(device, fields)
        self._diverged = Exchange(device, {"diverged": ((), np.bool_)})
        self._recorded = Recorded(self._work, device, changes=learner.optimiser.state)

    def learn(self, batch: Batch) -> None:
        """Begin the step; first, raise DivergedError if the last one could not be taken."""
        self.take(batch)
        self._recorded()
        if self._learner.device.type == "cpu":
            self._check()

    def take(self, batch: Batch) -> None:
        """Put a batch where it can be sent from, when the last one has been learned from."""
        self._recorded.wait()
        self._check()
        front = self._learner.front
        self._observations.take(encoded(front, batch.observations), encoded(front, batch.next_observations))
        self._batch.here["actions"][:] = batch.actions
        self._batch.here["rewards"][:] = batch.rewards
        self._batch.here["ended"][:] = self._learner.settings.ended(batch)

    def inputs(self) -> torch.Tensor:
        """Send the batch; the observations and those that followed, [2, B, …]."""
        self._batch.send()
        return self._observations()

    def _check(self) -> None:
        if self._diverged.here["diverged"]:
            self._diverged.here["diverged"][()] = False
            self._learner.optimiser.check_valid()

    def _work(self) -> None:
        """Both networks, the gradient and RMSprop."""
        online, optimiser = self._learner.online, self._learner.optimiser
        now, following = self.inputs()
        targets = self.targets(following)
        taken = online.forward(now).gather(1, self._batch.there["actions"][:, None])[:, 0]  # Q(s, a), [B]
        loss = torch.nn.functional.huber_loss(taken, targets, reduction="sum")
        optimiser.step(torch.autograd.grad(loss, online.parameters))
        self._diverged.there["diverged"].copy_(optimiser.diverged)
        self._diverged.fetch()

    @torch.no_grad()
    def targets(self, following: torch.Tensor) -> torch.Tensor:
        """y = r + γ Q'(s', argmaxₐ Q(s', a)), or r + γ maxₐ Q'(s', a) if not double; nothing follows an end. [B]."""
        learner, batch = self._learner, self._batch.there
        values = learner.target.forward(following)  # Q'(s', ·), [B, actions]
        choosing = learner.online.forward(following) if learner.settings.double else values
        value = values.gather(1, choosing.argmax(1, keepdim=True))[:, 0]
        return torch.where(batch["ended"], 0.0, value).mul_(learner.settings.discount).add_(batch["rewards"])
