"""D3QN, the dueling double deep Q-network (Mnih et al. 2015, van Hasselt et al. 2016, Wang et al. 2016)."""

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from engram import checks
from engram.agents.common.base import Agent
from engram.agents.common.config import EncoderConfig, chosen_device
from engram.agents.common.policy import encoder_arrays, network_arrays
from engram.agents.common.saved import check_part
from engram.agents.common.settings import takes
from engram.agents.learners.front import Front
from engram.agents.learners.q_compiled import CompiledQ
from engram.agents.learners.q_settings import QSettings, combination
from engram.agents.learners.rmsprop import RMSPROP_LIMITS
from engram.checks import MOST_STEPS
from engram.envs import EnvLike
from engram.envs.observed import is_usable
from engram.errors import DivergedError, InvalidInputError
from engram.exploration import View
from engram.memory.tables import MOST_ENTRIES
from engram.networks import NETWORKS, Network, default_network
from engram.networks.base import WIDEST, checked_widths
from engram.randomness import generator
from engram.replay.transitions import Batch, TransitionReplay
from engram.typing import Array, Floats


@dataclass(frozen=True, kw_only=True)
class D3QNConfig(EncoderConfig):
    """Hyperparameters of D3QN. The defaults are those of the paper's Table 6 for classic control."""

    presets = {  # noqa: RUF012 (Table 6)
        "rooms": {"target_update_steps": 1_000},
        "atari": {
            "replay_size": 1_000_000,
            "epsilon_final": 1e-2,
            "epsilon_anneal_end_steps": 1_000_000,
            "feature_size": 128,
            "learning_start_steps": 12_500,
            "target_update_steps": 1_000,
        },
    }

    network: str | Network | None = None  # that makes the features: a name, or module:Class; None: the paper's
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
        self.check_whole(
            dict.fromkeys(("replay_size", "learning_interval_steps", "target_update_steps"), (1, MOST_STEPS))
            | {"batch_size": (1, MOST_ENTRIES), "feature_size": (1, WIDEST), "learning_start_steps": (0, MOST_STEPS)}
        )
        self.check_numbers(RMSPROP_LIMITS | ({} if self.reward_clip is None else {"reward_clip": (0, np.inf)}))


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
    saved = ("online", "target", "optimiser", "replay", "replay_rng")
    Config = D3QNConfig
    config: D3QNConfig

    @takes(D3QNConfig)
    def __init__(self, env: EnvLike, config: D3QNConfig) -> None:
        self._begin(env, config)

    def build(self) -> None:
        """Both networks, the optimiser and the replay."""
        config, spaces = self.config, self.spaces
        features = 8 * config.feature_size  # of a transition's two observations
        checks.room(
            config.batch_size
            * (2 * prod(spaces.observation_shape) * (spaces.observation_dtype.itemsize + 4) + features),
            f"a learning step with {config.batch_size:,} transitions",
            lambda _: "choose a smaller batch_size",
        )
        rng = generator(self.seed, "encoder")
        front = Front(config, spaces, rng)
        self.front, self.encoder = front, front.encoder
        recipe = default_network(front.shape) if config.network is None else NETWORKS.find(config.network)
        device, settings = chosen_device(config.device), config.those_of(QSettings)
        widths = checked_widths(recipe, front.shape, config.feature_size)
        if device == "cpu" and widths is not None:
            self.learner: Any = CompiledQ(front, widths, spaces.actions, settings, rng)
        else:
            from engram.agents.learners.q_torch import TorchQ  # noqa: PLC0415 (needs torch)

            self.learner = TorchQ(front, recipe, spaces.actions, settings, rng, device)
        self.online, self.target, self.optimiser = self.learner.online, self.learner.target, self.learner.optimiser
        self.replay = TransitionReplay(config.replay_size, spaces.observation_shape, spaces.observation_dtype)
        if device != "cpu" and front.encoder is None:
            self.replay.mirror_on(self.learner.device)
        self.replay_rng = generator(self.seed, "replay")
        self._action = 0  # the last one taken
        self._view = View(
            spaces.actions, q_values=lambda observation: self._values(observation[None])[0], ties=config.ties
        )

    def act(self, observation: Array, step: int) -> int:
        """Choose an action by the exploration; the network is evaluated only if it asks for values."""
        self.front.update(observation)
        if not self.replay.in_episode:
            self.replay.begin(observation)
            if self.tally.listening:
                self.tally.note_start(self._values(observation[None])[0])
        self._action = self.choose(step, self._view.at(observation))
        return self._action

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Store the transition; learn, and renew the target network, when it is time."""
        config, step = self.config, self.steps
        if config.reward_clip is not None:
            reward = min(max(reward, -config.reward_clip), config.reward_clip)
        allowed = self.loop.allowed
        mask = None if allowed is None else np.isin(np.arange(self.spaces.actions), allowed)
        self.replay.add(self._action, reward, observation, terminated=terminated, truncated=truncated, mask=mask)
        due = step >= config.learning_start_steps and step % config.learning_interval_steps == 0
        if due and self.front.settled:
            self.learn_batch(self.replay.sample(self.replay_rng, config.batch_size))
        if step % config.target_update_steps == 0:
            self.learner.renew_target()

    def learn_batch(self, batch: Batch) -> None:
        """One step of RMSprop on the Huber loss between Q(s, a) and the targets, summed over the batch.

        The paper takes its learning rate and ε from Mnih et al. (2015), where gradients are summed; with their mean,
        ε would stand against gradients 32 times smaller, and hardly anything would be learned.
        """
        possible = batch if batch.masks is None else self._with_targets(batch, batch.masks)
        self.learner.learn(possible, self.tally.sums)

    def _with_targets(self, batch: Batch, masks: Array) -> Batch:
        """The batch with its targets as rewards that nothing follows, the actions in them being possible ones."""
        following, ended = batch.next_observations, self.learner.settings.ended(batch)
        values = self.learner.target_values(following)
        choosing = self.learner(following) if self.config.double else values
        chosen = np.where(masks, choosing, -np.inf).argmax(axis=1)
        after = np.where(ended, np.float32(0), values[np.arange(len(values)), chosen])
        rewards = (batch.rewards + np.float32(self.config.discount) * after).astype(np.float32)
        return batch._replace(rewards=rewards, terminated=np.ones_like(batch.terminated), masks=None)

    def settle_tally(self) -> None:
        """Wait for the last learning step, of which a GPU tells later."""
        self.learner.tell()

    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations; 0 before the encoder in front has settled."""
        return self._values(observations)

    def _values(self, observations: Array) -> Floats:
        """Q of every action for observations that were checked."""
        if not self.front.settled:
            return np.zeros((len(observations), self.spaces.actions), np.float32)
        q: Floats = self.learner(observations)
        if not is_usable(q):
            raise DivergedError("the network gives values that are not finite; choose a smaller learning_rate")
        return q

    def check_learned(self) -> None:
        """All learning steps could be taken, the networks' weights are within limits, and the values are finite."""
        for part in (self.learner, self.online, self.target):
            check_part(part)
        self._values(self.example())

    def check_parts(self) -> None:
        """What the replay holds fits the loop and the environment's actions, and the network gives values."""
        self.replay.check_actions(self.spaces.actions)
        self.check_learned()
        if self.loop.length and not self.replay.in_episode:
            raise InvalidInputError("the replay's episode has ended, but the loop's has not")
        if self.replay.in_episode and not self.loop.begun:
            raise InvalidInputError("the replay's episode is unfinished, but the loop's has ended")

    def _load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave, and the action of a step that was begun."""
        super()._load_state(state)
        self._action = self.loop.chosen or 0

    def forget_episode(self) -> None:
        """Break off the episode; the steps it has taken stay in the replay."""
        self.replay.abandon()

    def policy_arrays(self) -> dict[str, Array]:
        """The encoder in front, the network, and how its heads become Q."""
        encoded = encoder_arrays(self.encoder, self.spaces.observation_shape[0])
        heads = {"to_q": combination(self.spaces.actions, self.config.dueling)}
        return encoded | network_arrays(self.online, self.spaces, self.encoder) | heads

    @classmethod
    def widths(cls, settings: dict[str, Any], shape: list[int]) -> dict[str, int]:
        """The inputs of the heads, as far as the settings tell where those are."""
        if settings.get("network") is not None or settings.get("encoder") is not None:
            return {}
        last = 4 if len(shape) == 1 else 8  # the number of the heads' weights, above two or four layers
        return {f"online/{last}": settings["feature_size"]}
