"""D3QN's networks and its learning step with PyTorch: for images, GPUs and networks of one's own."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from engram.agents.learners.feeds import Sent, encoded, kind_of, source_for
from engram.agents.learners.front import Front
from engram.agents.learners.q_settings import QSettings, combination
from engram.agents.learners.rmsprop_torch import Feedback, RMSprop
from engram.devices import check_weights, put, torch
from engram.networks import Network, make_module
from engram.networks.dense import NO_SUMS
from engram.networks.inference import infer
from engram.networks.inputs import as_input
from engram.recording import Exchange, Recorded, Recordings, at_once
from engram.replay.transitions import Batch
from engram.typing import Array, Doubles, Floats


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
        found: Floats = self.infer(as_input(torch.tensor(batch), self.device)).cpu().numpy()
        return found

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Encoded observations on the device [B, …] → [B, actions], with gradients."""
        heads: torch.Tensor = self._layers(batch)
        return heads @ self._combination

    def infer(self, batch: torch.Tensor) -> torch.Tensor:
        """The same without gradients."""
        return infer(self._layers, batch) @ self._combination

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
        self._network, self._source = network, Sent(1, like)
        self._given = Exchange(network.device, self._source.fields)
        self._found = Exchange(network.device, {"q": ((1, network.actions), np.float32)})
        self._recorded = Recorded(self._work, network.device)

    def __call__(self, batch: Array) -> Floats:
        """[1, …], encoded → [1, actions]."""
        self._source.take(self._given, batch)
        self._recorded()
        self._recorded.wait()
        return self._found.here["q"].copy()

    @torch.no_grad()
    def _work(self) -> None:
        self._given.send()
        self._found.there["q"].copy_(self._network.infer(self._source.get(self._given)[0]))
        self._found.fetch()


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

    def target_values(self, observations: Array) -> Floats:
        """The target network's Q' of every action, [B, …] → [B, actions]."""
        return self.target(observations)

    def renew_target(self) -> None:
        """Make the target network equal to the network."""
        self.target.copy(self.online)

    def learn(self, batch: Batch, sums: Doubles = NO_SUMS) -> None:
        """One step of RMSprop on the Huber loss between Q(s, a) and the targets, summed over the batch.

        On a GPU the step is only begun. If it cannot be taken, the next one says so, or whatever saves the agent. To
        `sums`, unless it is empty, 1, the mean loss and the norm of the gradient are added when it is done.
        """
        self._step_for(batch, watched=len(sums) > 0).learn(batch, sums)

    def targets(self, batch: Batch) -> Floats:
        """The targets of a batch, [B]."""
        step = self._step_for(batch)
        step.take(batch)
        found: Floats = step.targets_now().cpu().numpy().copy()
        return found

    def check_valid(self) -> None:
        """Raise DivergedError if the last step could not be taken."""
        for step in self._steps:
            step.check_valid()

    def tell(self) -> None:
        """Wait for the last step, so that sums are whole."""
        self.check_valid()

    def _step_for(self, batch: Batch, *, watched: bool = False) -> "QStep":
        like = encoded(self.front, batch.observations)
        return self._steps.get((kind_of(like), watched), lambda: QStep(self, like, watched=watched))


class QStep:
    """A learning step with batches of one kind, recorded."""

    def __init__(self, learner: TorchQ, like: Any, *, watched: bool) -> None:
        self._learner, device, size = learner, learner.device, len(like)
        self._source = source_for(2, like)
        fields = {"actions": ((size, 1), np.int64), "rewards": ((size, 1), np.float32), "ended": ((size, 1), np.bool_)}
        self._given = Exchange(device, self._source.fields | fields)
        self._found = Feedback(device, watched=watched)
        changes = [*learner.optimiser.state, self._found.healthy]
        self._recorded = Recorded(self._work, device, changes=changes)

    def learn(self, batch: Batch, sums: Doubles) -> None:
        """Begin the step; first, raise DivergedError if the last one could not be taken."""
        self.take(batch)
        self._recorded()
        self._found.tell(sums)
        if self._learner.device.type == "cpu":
            self.check_valid()

    def take(self, batch: Batch) -> None:
        """Put a batch where it can be sent from, when the last one has been learned from."""
        self.check_valid()
        front, here = self._learner.front, self._given.here
        both = (encoded(front, some) for some in (batch.observations, batch.next_observations))
        self._source.take(self._given, *both)
        here["actions"][:, 0] = batch.actions
        here["rewards"][:, 0] = batch.rewards
        here["ended"][:, 0] = self._learner.settings.ended(batch)

    def check_valid(self) -> None:
        """Raise DivergedError if the last step could not be taken; waits for it."""
        self._recorded.wait()
        self._found.take()

    def inputs(self) -> torch.Tensor:
        """Send the batch; the observations and those that followed, [2, B, …]."""
        self._given.send()
        return self._source.get(self._given)

    def _work(self) -> None:
        """Both networks, the gradient and RMSprop."""
        online, optimiser = self._learner.online, self._learner.optimiser
        now, following = self.inputs()
        *values, q = at_once(self._learner.device, *self._values(following), lambda: online.forward(now))
        taken = q.gather(1, self._given.there["actions"])  # Q(s, a), [B, 1]
        error = taken.detach() - self.targets(values)
        slope = error.clamp(-1, 1)  # of the Huber loss
        gradients = torch.autograd.grad(taken, online.parameters, slope)
        squared = optimiser.step(gradients, healthy=self._found.healthy)
        if self._found.watched:
            self._found.note((slope * (error - slope / 2)).mean(), squared)
        self._found.fetch()

    def _values(self, following: torch.Tensor) -> list[Callable[[], torch.Tensor]]:
        """What computes Q'(s', ·), [B, actions], and, if double, Q(s', ·)."""
        networks = [self._learner.target, self._learner.online][: 1 + self._learner.settings.double]
        return [partial(network.infer, following) for network in networks]

    def targets(self, values: list[torch.Tensor]) -> torch.Tensor:
        """y = r + γ Q'(s', argmaxₐ Q(s', a)), or r + γ maxₐ Q'(s', a) if not double; nothing follows an end. [B, 1]."""
        there = self._given.there
        value = values[0].gather(1, values[-1].argmax(1, keepdim=True))
        return value.masked_fill_(there["ended"], 0).mul_(self._learner.settings.discount).add_(there["rewards"])

    def targets_now(self) -> torch.Tensor:
        """The targets of the batch that was taken, [B]."""
        _, following = self.inputs()
        return self.targets([compute() for compute in self._values(following)])[:, 0]
