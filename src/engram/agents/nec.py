"""Neural episodic control (Pritzel et al. 2017): a network learns where to look, a memory what is there."""

from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from engram import checks
from engram.agents.common.base import Agent
from engram.agents.common.config import EncoderConfig, chosen_device
from engram.agents.common.policy import encoder_arrays, memory_arrays, network_arrays
from engram.agents.common.recall import Recall
from engram.agents.common.settings import takes
from engram.agents.learners.front import Front
from engram.agents.learners.key_settings import LARGEST_RETURN, KeySettings
from engram.agents.learners.keys_compiled import CompiledKeys
from engram.agents.learners.rmsprop import RMSPROP_LIMITS
from engram.checks import MOST_STEPS
from engram.envs import EnvLike
from engram.errors import InvalidInputError
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.exploration.greedy import greedy, uniform
from engram.memory import EpisodicMemory
from engram.memory.quick import UNUSABLE, Desk
from engram.memory.raw_clusters import check_observed
from engram.memory.strategies import Strategy, get_strategy
from engram.memory.tables import MOST_ENTRIES
from engram.networks import NETWORKS, Network, default_network
from engram.networks.base import WIDEST, checked_widths
from engram.randomness import generator
from engram.replay.returns import ReturnBatch, ReturnReplay
from engram.typing import Array, Doubles, Floats


@dataclass(frozen=True, kw_only=True)
class NECConfig(EncoderConfig):
    """Hyperparameters of NEC. The defaults are those of the paper's Table 5 for classic control and rooms."""

    presets = {  # noqa: RUF012 (Table 5)
        "atari": {
            "neighbours": 50,
            "epsilon_final": 1e-3,
            "key_size": 128,
            "learning_start_steps": 50_000,
        }
    }

    strategy: str | Strategy = "lru"  # what is forgotten: a name such as lru or dkm:decay=0.3, or module:Class
    network: str | Network | None = None  # that makes the keys: a name, or module:Class; None: the paper's
    capacity: int = 10_000  # entries per action
    neighbours: int = 11  # k, entries that a read averages over
    delta: float = 1e-3  # δ of the weights 1/(d² + δ)
    memory_step: float = 0.1  # α, the step towards a new return of a state met before
    match_key: Literal["newer", "older"] = "newer"  # that a state met before takes, or keeps
    return_steps: int = 100  # n, rewards that a return sums before it trusts the memory
    key_size: int = 64  # of the network's output
    replay_size: int = 100_000  # states with their returns to learn from
    batch_size: int = 32  # of them in a learning step
    learning_start_steps: int = 1_000  # no learning before this step
    learning_interval_steps: int = 4  # steps between two learning steps
    learning_rate: float = 7.92468721e-6  # of RMSprop
    rmsprop_decay: float = 0.95  # of the squared average (the paper's momentum)
    rmsprop_epsilon: float = 1e-2  # inside the square root
    learn_memory: bool = False  # learn the stored keys and values too, not only the network
    clusters_by: Literal["keys", "observations"] = "keys"  # how a state's nearest cluster is found when it is written
    device: Literal["cpu", "cuda", "auto"] = "cpu"  # where the network and the memory's keys are

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_clusters(get_strategy(self.strategy))
        self.check_whole(
            dict.fromkeys(("capacity", "neighbours", "batch_size"), (1, MOST_ENTRIES))
            | dict.fromkeys(("replay_size", "return_steps", "learning_interval_steps"), (1, MOST_STEPS))
            | {"key_size": (1, WIDEST), "learning_start_steps": (0, MOST_STEPS)}
        )
        self.check_numbers({"delta": (1e-12, 1e12), "memory_step": (1e-9, 1)} | RMSPROP_LIMITS)

    def _check_clusters(self, strategy: Strategy) -> None:
        """Raise InvalidInputError unless clusters can be found as they are to be."""
        if self.clusters_by == "keys":
            return
        check_observed(strategy)
        for name, needed in (("encoder", None), ("device", "cpu")):
            if getattr(self, name) != needed:
                raise InvalidInputError(
                    f'clusters_by="observations" needs {name}={needed!r}, got {getattr(self, name)!r:.100}; leave it '
                    'out, or choose clusters_by="keys"'
                )


def n_step_returns(rewards: Doubles, best: Doubles, n: int, discount: float) -> Floats:
    """Rₜ = Σᵢ₌₀ⁿ⁻¹ λⁱ rₜ₊ᵢ₊₁ + λⁿ maxₐ Q(sₜ₊ₙ, a) for one ended episode, `best` being maxₐ Q as it was when visited.

    Where the episode ends within n steps the sum is the whole return, and the value after the end is 0.
    """
    sums, following = [0.0], 0.0
    for reward in rewards[::-1].tolist():
        following = reward + discount * following
        sums.append(following)
    whole = np.array(sums[::-1])
    returns = whole[:-1].copy()
    if len(rewards) > n:
        returns[:-n] += discount**n * (best[n:] - whole[n:-1])
    return returns.astype(np.float32)


class NEC(Agent):
    """Neural episodic control.

    A network makes a key of the observation, and Q is read from the memory at that key. When an episode ends its
    states are written with their n-step returns, under the keys computed when acting; a state is recognised by its
    observation, not by its key. Every few steps the network learns to put states where the memory predicts their
    returns better.
    """

    name = "nec"
    label = "NEC"
    has_memory = True
    has_replay = True
    step_cost = 8.0
    default_steps = 20_000
    saved = ("network", "optimiser", "memory", "replay", "replay_rng", "unfinished", "waiting")
    Config = NECConfig
    config: NECConfig

    @takes(NECConfig)
    def __init__(self, env: EnvLike, config: NECConfig) -> None:
        self._begin(env, config)

    def build(self) -> None:
        """The network with its optimiser, the memory, the replay and the unfinished episode."""
        config, spaces = self.config, self.spaces
        neighbours = config.batch_size * min(config.neighbours, config.capacity)
        checks.room(
            neighbours * (config.key_size + 4) * 16,
            f"a learning step with {config.neighbours:,} neighbours for each of {config.batch_size:,} states",
            lambda _: "choose a smaller batch_size, fewer neighbours or a smaller key_size",
        )
        self.device = device = chosen_device(config.device)
        rng = generator(self.seed, "encoder")
        front = Front(config, spaces, rng)
        self.encoder = front.encoder
        recipe = default_network(front.shape) if config.network is None else NETWORKS.find(config.network)
        settings, widths = config.those_of(KeySettings), checked_widths(recipe, front.shape, config.key_size)
        if device == "cpu" and widths is not None:
            self.network: Any = CompiledKeys(front, widths, settings, rng)
        else:
            from engram.agents.learners import keys_torch  # noqa: PLC0415 (needs torch)

            self.network = keys_torch.TorchKeys(front, recipe, settings, rng, device)
        self.optimiser = self.network.optimiser
        self.memory = EpisodicMemory(
            actions=spaces.actions,
            key_size=config.key_size,
            capacity=config.capacity,
            strategy=get_strategy(config.strategy).build(spaces, generator(self.seed, "strategy")),
            neighbours=config.neighbours,
            delta=config.delta,
            match=config.memory_step,
            match_key=config.match_key,
            exact_read=False,
            observation_size=self._observation_size(),
            companions=config.key_size + 1 if config.learn_memory else 0,
            device=device,
        )
        self.replay = ReturnReplay(config.replay_size, spaces.observation_shape, spaces.observation_dtype)
        self.replay_rng = generator(self.seed, "replay")
        glance = None
        if device != "cpu":
            glance = keys_torch.KeyGlance(self.network, self.memory)
            if front.encoder is None:
                self.replay.mirror_on(self.network.device)
        self.recall = Recall(self.network, self.memory, spaces, ties=config.ties, tally=self.tally, glance=glance)
        self.unfinished, self.waiting = self.recall.unfinished, self.recall.waiting
        self._desk = self._find_desk()
        if self._desk is not None:
            self.unfinished.take_notes_from(self._desk)

    def _observation_size(self) -> int:
        """Numbers of an observation if clusters are found by them, otherwise 0."""
        if self.config.clusters_by == "keys":
            return 0
        shape = self.spaces.observation_shape
        if len(shape) != 1:
            raise InvalidInputError(
                f'clusters_by="observations" needs observations that are vectors, got shape {shape}; choose "keys"'
            )
        return shape[0]

    def _find_desk(self) -> Desk | None:
        """Where one compiled call carries out a step, if all parts are built in and the network takes vectors."""
        plain = type(self.network) is CompiledKeys and self.encoder is None
        return self.memory.desk(*self.network.way_to_act()) if plain and self.is_plain() else None

    def forget_episode(self) -> None:
        """Drop the unfinished episode."""
        self.unfinished.clear()
        self.replay.abandon()

    def act(self, observation: Array, step: int) -> int:
        """Choose an action by the exploration; the memory is read at every step, as returns need maxₐ Q."""
        desk, episode = self._desk, self.unfinished
        if desk is None:
            return self._act_plainly(observation, step)
        exploration, rng = cast(EpsilonGreedy, self.exploration), self.policy_rng
        action = desk.act(observation, episode.row, True)
        if action == UNUSABLE:
            self.network(np.asarray(observation)[None])  # says what is wrong with the network
        allowed = self.loop.allowed
        if allowed is not None:
            best = float(desk.q[allowed].max())
        else:
            best = float(desk.q.max() if action < 0 else desk.q[action])
        if exploration.explores(step, rng):
            action = uniform(self.spaces.actions, rng, allowed)
        elif action < 0 or allowed is not None:
            action = greedy(desk.q, rng, self.config.ties, allowed)
        episode.noted(action)
        episode.best.append(best)
        self.replay.add(observation, action)
        return action

    def _act_plainly(self, observation: Array, step: int) -> int:
        """The same step by step, which parts of any kind can take."""
        keys, state = self.recall.see(observation)
        view = self.recall.view.at(keys).only(self.loop.allowed)
        best = float(view.q_values().max())
        action = self.choose(step, view)
        self.unfinished.add(keys[0], state, action)
        self.unfinished.best.append(best)
        self.replay.add(observation, action)
        return action

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Keep the reward; at the end of the episode, write what it taught; every few steps, learn."""
        config, unfinished = self.config, self.unfinished
        unfinished.rewards.append(reward)
        if terminated or truncated:
            rewards, best = np.array(unfinished.rewards), np.array(unfinished.best)
            returns = n_step_returns(rewards, best, config.return_steps, config.discount)
            self.tally.start = float(best[0]) if self.tally.listening else None
            observed = self.replay.unfinished_observations() if config.clusters_by == "observations" else None
            self.recall.finish(returns, self.steps, observed)
            self.replay.finish(returns)
        due = self.steps % config.learning_interval_steps == 0 and self.steps >= config.learning_start_steps
        if due and len(self.replay) >= config.batch_size and self.network.settled:
            self.learn_batch(self.replay.sample(self.replay_rng, config.batch_size))

    def learn_batch(self, batch: ReturnBatch) -> None:
        """One step of RMSprop on the mean of (Q(s, a) − R)² over a batch of remembered states."""
        self.network.learn(batch, self.memory, self.tally.sums)

    def settle_tally(self) -> None:
        """Wait for the last learning step, of which a GPU tells later."""
        self.network.tell()

    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations; touches nothing."""
        return self.recall.q_values(observations)

    def distances(self, observations: Array) -> Floats:
        """Squared distance to the nearest entry of each action's table, for a batch of observations."""
        return self.recall.distances(observations)

    def policy_arrays(self) -> dict[str, Array]:
        """The encoder in front, the network and the memory."""
        encoded = encoder_arrays(self.encoder, self.spaces.observation_shape[0])
        network = network_arrays(getattr(self.network, "dense", None), self.spaces, self.encoder)
        return encoded | network | memory_arrays(self.memory)

    @classmethod
    def widths(cls, settings: dict[str, Any], shape: list[int]) -> dict[str, int]:
        """The width of keys."""
        return {"memory/keys": settings["key_size"]}

    def check_learned(self) -> None:
        """The network's weights are within limits, and it gives keys."""
        self.network.check_valid()
        self.recall.q_values(self.example())

    def check_parts(self) -> None:
        """The unfinished episode fits the loop, the network and the replay."""
        self.recall.check(self.loop, has_best=True)
        self.replay.check_actions(self.spaces.actions)
        self.check_learned()
        if self.replay.unfinished != self.unfinished.actions.tolist():
            raise InvalidInputError("the replay's unfinished episode is another one than the memory's")

    def _load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave, if it can be learned from."""
        best = state["unfinished"].get("best", np.zeros(0))
        returns = state["memory"]["values"], state["replay"]["entries"]["returns"], best
        if not all((np.abs(each.astype(np.float64)) <= LARGEST_RETURN).all() for each in returns):
            raise InvalidInputError(f"returns to learn from must be numbers of at most {LARGEST_RETURN:g} up or down")
        super()._load_state(state)
