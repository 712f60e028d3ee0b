"""D3QN, the dueling double deep Q-network (Mnih et al. 2015, van Hasselt et al. 2016, Wang et al. 2016)."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from engram import checks
from engram.agents.base import Agent
from engram.agents.config import AgentConfig
from engram.agents.policy import greedy
from engram.agents.rmsprop import RMSprop, check_rmsprop
from engram.compiling import compiled
from engram.devices import find_device, put, torch
from engram.networks import as_input, make_network
from engram.randomness import generator, generator_state, set_generator_state
from engram.replay.transitions import Batch, TransitionReplay
from engram.typing import Array, Floats


@dataclass(frozen=True, kw_only=True)
class D3QNConfig(AgentConfig):
    """Hyperparameters of D3QN. The defaults are those of the paper's Table 6 for classic control."""

    replay_size: int = 100_000  # transitions to draw from
    learning_rate: float = 25e-5  # of RMSprop
    rmsprop_decay: float = 0.95  # of the average of squared gradients; the paper calls it momentum
    rmsprop_epsilon: float = 1e-2  # added to that average under the root
    epsilon_anneal_start_steps: int = 1  # step from which that probability falls in a straight line
    epsilon_anneal_end_steps: int = 50_000  # step at which it has reached its final value
    reward_clip: float | None = 1.0  # rewards to learn from are cut to ± this; None leaves them as they are
    batch_size: int = 32  # transitions per learning step
    learning_start_steps: int = 5_000  # no learning before this step
    learning_interval_steps: int = 4  # steps between two learning steps
    target_update_steps: int = 7_500  # steps between two copies of the network to the target network
    dueling: bool = True  # Q = V + A − mean A; otherwise Q directly
    double: bool = True  # the action in the target is chosen by the network itself, not by the target network
    bootstrap_truncated: bool = False  # a truncated episode goes on for learning; otherwise nothing follows its end
    feature_size: int = 64  # numbers between the encoder and the heads; the paper's encoder for Atari has 128
    device: Literal["cpu", "cuda", "auto"] = "cpu"  # where the networks are

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (
            "replay_size",
            "batch_size",
            "learning_interval_steps",
            "target_update_steps",
            "feature_size",
        ):
            checks.at_least(name, getattr(self, name), 1)
        check_rmsprop(self)
        if self.reward_clip is not None:
            checks.within("reward_clip", self.reward_clip, 0, np.inf)
        checks.at_least("learning_start_steps", self.learning_start_steps, 0)


class D3QN(Agent):
    """Dueling double deep Q-network.

    Every few steps, for a batch of past transitions, Q(s, a) moves towards
    y = r + γ Q'(s', argmaxₐ Q(s', a)), or y = r where the episode ended, along the gradient of the Huber loss. The
    target network Q' is a copy of Q, renewed now and then.
    """

    name = "d3qn"
    label = "D3QN"
    has_replay = True
    step_cost = 5.0
    default_steps = 20_000
    Config = D3QNConfig
    config: D3QNConfig

    def _build(self) -> None:
        config, source = self.config, self.source
        device = find_device(config.device)
        self.online, self.target = (
            QNetwork(
                source.observation_shape,
                source.actions,
                feature_size=config.feature_size,
                dueling=config.dueling,
                rng=generator(self.seed, "encoder"),
                device=device,
            )
            for _ in range(2)
        )
        self.optimiser = RMSprop(
            self.online.parameters,
            learning_rate=config.learning_rate,
            decay=config.rmsprop_decay,
            epsilon=config.rmsprop_epsilon,
        )
        self.replay = TransitionReplay(config.replay_size, source.observation_shape, source.observation_dtype)
        self.replay_rng = generator(self.seed, "replay")
        self._action = 0  # the last one taken

    def act(self, observation: Array, step: int) -> int:
        """ε-greedy on Q. An explored step needs no network."""
        if not self.replay.in_episode:
            self.replay.begin(observation)
        rng = self.policy_rng
        if rng.random() < self.epsilon(step):
            self._action = int(rng.integers(self.source.actions))
        else:
            self._action = greedy(self.online(observation[None])[0], rng, self.config.ties)
        return self._action

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Store the transition; learn, and renew the target network, when it is time."""
        config, step = self.config, self.steps
        if config.reward_clip is not None:
            reward = min(max(reward, -config.reward_clip), config.reward_clip)
        self.replay.add(self._action, reward, observation, terminated=terminated, truncated=truncated)
        if step >= config.learning_start_steps and step % config.learning_interval_steps == 0:
            self.learn_from(self.replay.sample(self.replay_rng, config.batch_size))
        if step % config.target_update_steps == 0:
            self.target.copy(self.online)

    def learn_from(self, batch: Batch) -> None:
        """One step of RMSprop on the Huber loss between Q(s, a) and the targets, summed over the batch.

        The paper takes its learning rate and ε from Mnih et al. (2015), where gradients are summed; with their mean,
        ε would stand against gradients 32 times smaller, and hardly anything would be learned.
        """
        online = self.online
        targets = torch.from_numpy(self.targets(batch)[:, None]).to(online.device)  # [B, 1]
        actions = torch.from_numpy(batch.actions[:, None]).to(online.device)
        taken = online.forward(batch.observations).gather(1, actions)  # Q(s, a), [B, 1]
        loss = torch.nn.functional.huber_loss(taken, targets, reduction="sum")
        self.optimiser.step(torch.autograd.grad(loss, online.parameters))
        online.weights_changed()

    def targets(self, batch: Batch) -> Floats:
        """y = r + γ Q'(s', argmaxₐ Q(s', a)), or r + γ maxₐ Q'(s', a) if not double; nothing follows an end. [B]."""
        config = self.config
        following = self.target(batch.next_observations)  # Q'(s', ·), [B, actions]
        choosing = self.online(batch.next_observations) if config.double else following
        value: Floats = following[np.arange(len(following)), choosing.argmax(axis=1)]
        ended = batch.terminated if config.bootstrap_truncated else batch.terminated | batch.truncated
        value[ended] = 0
        value *= np.float32(config.discount)
        value += batch.rewards
        return value

    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations."""
        return self.online(observations)

    def _forget_episode(self) -> None:
        self.replay.abandon()

    @classmethod
    def _sizes(cls, settings: dict[str, Any], shape: list[int]) -> dict[str, int]:
        last = 4 if len(shape) == 1 else 8  # the number of the heads' weights, above two or four layers
        return {f"online/{last}": settings["feature_size"]}

    def _check_parts(self) -> None:
        self.replay.check_valid()

    def _parts(self) -> dict[str, Any]:
        return {
            "online": self.online.state_dict(),
            "target": self.target.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "replay": self.replay.state_dict(),
            "replay_rng": generator_state(self.replay_rng),
        }

    def _load_parts(self, parts: dict[str, Any]) -> None:
        for name in ("online", "target", "optimiser", "replay"):
            getattr(self, name).load_state_dict(parts[name])
        set_generator_state(self.replay_rng, parts["replay_rng"])


class QNetwork:
    """Q of every action: NEC's encoder, ReLU, and one linear layer of heads, V and A if dueling, otherwise Q.

    Without gradients, vectors on the CPU go through a compiled kernel: the same observation under the same weights
    has the same bits alone and in a batch. All else goes through PyTorch, whose rounding depends on the batch.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        actions: int,
        *,
        feature_size: int,
        dueling: bool,
        rng: np.random.Generator,
        device: torch.device,
    ) -> None:
        encoder = make_network(shape, feature_size, rng)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(rng.integers(2**63)))
            heads = torch.nn.Linear(feature_size, dueling + actions)
        self.actions, self.device = actions, device
        self.parameters = [*encoder.to(device).parameters(), *heads.to(device).parameters()]
        self._layers = torch.nn.Sequential(*encoder, torch.nn.ReLU(), heads)
        self._combination = torch.from_numpy(combination(actions, dueling)).to(device)
        self._compiled = len(shape) == 1 and device.type == "cpu"
        self._kernel_weights: list[Floats] = []  # empty when the parameters have changed

    def __call__(self, observations: Array) -> Floats:
        """[B, …] → [B, actions], without gradients."""
        if self._compiled:
            x = as_rows(observations)
            q = np.empty((len(x), self.actions), np.float32)
            three_layers(x, q, *self._weights())
            return q
        with torch.no_grad():
            found: Floats = self.forward(observations).cpu().numpy()
        return found

    def forward(self, observations: Array) -> torch.Tensor:
        """[B, …] → [B, actions], with gradients."""
        batch = torch.tensor(observations)  # a copy in PyTorch's own memory, which is aligned: the same bits every run
        heads: torch.Tensor = self._layers(as_input(batch, self.device))
        return heads @ self._combination

    def _weights(self) -> list[Floats]:
        """The parameters, transposed so that outputs lie side by side, the heads combined to Q."""
        if not self._kernel_weights:
            *below, weights, biases = (parameter.detach().numpy().T for parameter in self.parameters)
            to_q = self._combination.numpy()
            self._kernel_weights = [*map(np.ascontiguousarray, below), weights @ to_q, biases @ to_q]
        return self._kernel_weights

    def weights_changed(self) -> None:
        """To be called after each change of the parameters."""
        self._kernel_weights = []

    def copy(self, other: "QNetwork") -> None:
        """Become equal to another one."""
        self.load_state_dict(other.state_dict())

    def state_dict(self) -> dict[str, Any]:
        """The parameters, by number."""
        return {str(number): weight.detach().cpu().numpy().copy() for number, weight in enumerate(self.parameters)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        for number, weight in enumerate(self.parameters):
            put(weight, state[str(number)])
        self.weights_changed()


def combination(actions: int, dueling: bool) -> Floats:
    """The matrix that makes Q of the heads V and A, [1 + actions, actions]: Q = V + A − mean A. If not dueling, 1."""
    if not dueling:
        return np.eye(actions, dtype=np.float32)
    return np.vstack([np.ones(actions), np.eye(actions) - 1 / actions]).astype(np.float32)


def as_rows(observations: Array) -> Floats:
    """A batch of vectors as `as_input` makes it: float32, bytes scaled to [0, 1]."""
    rows = np.ascontiguousarray(observations, np.float32)
    return rows / np.float32(255) if observations.dtype == np.uint8 else rows


@compiled
def linear(x: Floats, weights: Floats, biases: Floats, out: Floats) -> None:
    """Biases + x · weights, summed in the order of x."""
    for i in range(len(out)):
        out[i] = biases[i]
    for j in range(len(x)):
        value = x[j]
        if value != 0:
            for i in range(len(out)):
                out[i] += weights[j, i] * value


@compiled
def three_layers(
    x: Floats, out: Floats, w1: Floats, b1: Floats, w2: Floats, b2: Floats, w3: Floats, b3: Floats
) -> None:
    """Linear, ReLU, linear, ReLU, linear for every row of x, each summed in the same order whatever the batch."""
    first, second = np.empty_like(b1), np.empty_like(b2)
    for row in range(len(x)):
        linear(x[row], w1, b1, first)
        np.maximum(first, 0, first)
        linear(first, w2, b2, second)
        np.maximum(second, 0, second)
        linear(second, w3, b3, out[row])
