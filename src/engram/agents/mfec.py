"""Model-free episodic control (Blundell et al. 2016): act by the best returns that similar states have seen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from engram.agents.common.aggregation import Aggregation
from engram.agents.common.base import Agent
from engram.agents.common.calibration import Calibration
from engram.agents.common.config import EncoderConfig
from engram.agents.common.episode import Finished
from engram.agents.common.policy import encoder_arrays, memory_arrays
from engram.agents.common.recall import Recall
from engram.agents.common.settings import takes
from engram.checks import MOST_STEPS
from engram.encoders import ENCODERS, Encoder
from engram.encoders.base import build_encoder
from engram.encoders.identity import Identity
from engram.encoders.projection import LARGEST_SIZE, Projection
from engram.envs import EnvLike
from engram.errors import InvalidInputError
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.exploration.greedy import greedy, uniform
from engram.memory import EpisodicMemory
from engram.memory.batch import check_merging
from engram.memory.quick import Desk
from engram.memory.strategies import Strategy, get_strategy
from engram.memory.tables import MOST_ENTRIES
from engram.randomness import generator
from engram.typing import Array, Doubles, Floats


@dataclass(frozen=True, kw_only=True)
class MFECConfig(EncoderConfig):
    """Hyperparameters of MFEC. The defaults are those of the paper's Table 4; the paper varies the first two."""

    strategy: str | Strategy = "lru"  # what is forgotten: a name such as lru or dkm:decay=0.3, or module:Class
    capacity: int = 10_000  # entries per action
    neighbours: int = 11  # k, entries that a read averages over
    kernel: Literal["inverse", "mean"] = "inverse"  # weights 1/(d² + δ), or equal weights
    delta: float = 1e-3  # δ, which keeps the weights finite
    projection_size: int = 128  # key size for images, if no encoder is chosen; vectors are their own keys
    duplicates: bool = False  # a state met before counts as a new one
    merging: Literal["single", "episode"] = "single"  # clusters take in an episode's states one by one, or in batches
    always_read: bool = False  # a random step reads the memory too, so that its neighbours count as used
    shrinkage: float | Literal["measured"] = 0.0  # weight of neighbours in what is read of a stored state, from 0 to 1
    correct_neighbours: Literal["none", "new", "all"] = "none"  # by their bias, as new states show it, or all states
    pooling: float = 0.0  # weight, in neighbours, of what all actions' neighbours say in what those of one say
    radius: float = 0.0  # up to which states count as the same, in mean distances to the nearest entry
    horizon: int | None = None  # n: states are also written n steps later, with the value reached by then; None: not
    look_ahead: bool = False  # a return goes on with what is stored of the next state where that is larger
    device: Literal["cpu", "cuda", "auto"] = "cpu"  # where the memory's keys are

    def __post_init__(self) -> None:
        super().__post_init__()
        check_merging(self.merging, get_strategy(self.strategy))
        self.check_whole(
            {"capacity": (1, MOST_ENTRIES), "neighbours": (1, MOST_ENTRIES), "projection_size": (1, LARGEST_SIZE)}
        )
        self.check_numbers({"delta": (1e-12, 1e12), "radius": (0, 1e9), "pooling": (0, 1e9)})
        if self.shrinkage != "measured":
            self.check_numbers({"shrinkage": (0, 1)})
        if self.horizon is not None:
            self.check_whole({"horizon": (1, MOST_STEPS)})
        if self.duplicates and self.radius:
            raise InvalidInputError(
                f"duplicates=True counts every state as a new one, and radius={self.radius:g} close ones as the same; "
                "leave out one of them"
            )

    def chosen_encoder(self, shape: tuple[int, ...]) -> Encoder:
        """The encoder: the one that was chosen, or the paper's for observations of this shape."""
        if self.encoder is not None:
            return ENCODERS.find(self.encoder)
        return Identity() if len(shape) == 1 else Projection(self.projection_size)


class MFEC(Agent):
    """Model-free episodic control.

    Q(s, a) is read from the table of action a; when an episode ends, each of its states is written into the
    table of the action taken there, with the discounted return that followed.
    """

    name = "mfec"
    label = "MFEC"
    has_memory = True
    saved = ("memory", "calibration", "aggregation", "unfinished", "waiting")
    Config = MFECConfig
    config: MFECConfig

    @takes(MFECConfig)
    def __init__(self, env: EnvLike, config: MFECConfig) -> None:
        self._begin(env, config)

    def build(self) -> None:
        """The encoder, the memory and the unfinished episode."""
        config, spaces = self.config, self.spaces
        recipe = config.chosen_encoder(spaces.observation_shape)
        self.encoder = build_encoder(recipe, spaces, generator(self.seed, "encoder"))
        self.memory = EpisodicMemory(
            actions=spaces.actions,
            key_size=self.encoder.key_size,
            capacity=config.capacity,
            strategy=get_strategy(config.strategy).build(spaces, generator(self.seed, "strategy")),
            neighbours=config.neighbours,
            delta=config.delta,
            kernel=config.kernel,
            merging=config.merging,
            device=config.device,
        )
        self.aggregation = Aggregation(self.memory, config.radius)
        self.calibration = Calibration(
            self.memory,
            shrinkage=None if config.shrinkage == "measured" else float(config.shrinkage),
            correct_by=config.correct_neighbours,
            pooling=config.pooling,
            aggregation=self.aggregation,
        )
        self.recall = Recall(
            self.encoder,
            self.memory,
            spaces,
            ties=config.ties,
            tally=self.tally,
            calibration=self.calibration if self._reads_apart() else None,
            aggregation=self.aggregation,
        )
        self.unfinished, self.waiting = self.recall.unfinished, self.recall.waiting
        self._always_reads = config.always_read or config.horizon is not None
        self._desk = self._find_desk()
        if self._desk is not None:
            self.unfinished.take_notes_from(self._desk)

    def _reads_apart(self) -> bool:
        """Whether neighbours are looked at one by one: for calibration, or for values and distances in one search."""
        return self.calibration.changes_reads or self.exploration.needs_distances

    def _find_desk(self) -> Desk | None:
        """Where one compiled call carries out a step, if all parts are built in and vectors are their own keys."""
        plain = type(self.encoder) is Identity and not self.config.duplicates
        plain = plain and self.config.horizon is None and not self.calibration.changes_reads
        return self.memory.desk() if plain and self.is_plain() else None

    def forget_episode(self) -> None:
        """Drop the unfinished episode."""
        self.unfinished.clear()

    def act(self, observation: Array, step: int) -> int:
        """Choose an action by the exploration; the memory is read if that asks for values, or always if so set."""
        desk, episode = self._desk, self.unfinished
        if desk is None:
            return self._act_plainly(observation, step)
        exploration, rng = cast(EpsilonGreedy, self.exploration), self.policy_rng
        explores = exploration.explores(step, rng)
        action = desk.act(observation, episode.row, not explores or self._always_reads)
        allowed = self.loop.allowed
        if explores:
            action = uniform(self.spaces.actions, rng, allowed)
        elif action < 0 or allowed is not None:
            action = greedy(desk.q, rng, self.config.ties, allowed)
        episode.noted(action)
        return action

    def _act_plainly(self, observation: Array, step: int) -> int:
        """The same step by step, which parts of any kind can take."""
        keys, state = self.recall.see(observation)
        view = self.recall.view.at(keys)
        best = float(view.only(self.loop.allowed).q_values().max()) if self._always_reads else 0.0
        action = self.choose(step, view)
        self.unfinished.add(keys[0], step if self.config.duplicates else state, action)
        if self.config.horizon is not None:
            self._write_early(self.config.horizon, best)
        return action

    def _write_early(self, horizon: int, best: float) -> None:
        """Write the state of so many steps ago, with the rewards since then and `best`, maxₐ Q of the state met now."""
        episode, now = self.unfinished, len(self.unfinished) - 1
        if now == 0 and self.tally.listening:
            self.tally.start = best
        if now < horizon or not self.encoder.settled:
            return
        then = now - horizon
        returns = discounted_returns(episode.rewards[then:now], self.config.discount, following=best)
        state = np.array(episode.states[then : then + 1], np.uint64)
        action = np.array(episode.actions[then : then + 1], np.int64)
        self.recall.write(Finished(episode.key(then), state, action, returns[:1], self.loop.total))

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Keep the reward; at the end of the episode, write what it taught."""
        self.unfinished.rewards.append(reward)
        if terminated or truncated:
            known = self._known_values() if self.config.look_ahead else None
            returns = discounted_returns(self.unfinished.rewards, self.config.discount, known=known)
            self.recall.finish(returns, self.steps)

    def _known_values(self) -> Doubles:
        """The best value that is stored of each state of the unfinished episode itself, −∞ where there is none."""
        stored = self.memory.read_stored(np.frombuffer(self.unfinished.states, np.uint64))
        known: Doubles = np.where(np.isnan(stored), -np.inf, stored).max(1).astype(np.float64)
        return known

    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations; touches nothing."""
        return self.recall.q_values(observations)

    def distances(self, observations: Array) -> Floats:
        """Squared distance to the nearest entry of each action's table, for a batch of observations."""
        return self.recall.distances(observations)

    def policy_arrays(self) -> dict[str, Array]:
        """The encoder and the memory."""
        if self.calibration.changes_reads:
            raise InvalidInputError(
                'a policy can be exported with shrinkage=0, correct_neighbours="none", pooling=0 and radius=0: its '
                "reader knows nothing else; save the agent itself, and load it for prediction: "
                "load(path, for_prediction=True)"
            )
        return encoder_arrays(self.encoder, self.memory.key_size) | memory_arrays(self.memory)

    @classmethod
    def widths(cls, settings: dict[str, Any], shape: list[int]) -> dict[str, int]:
        """The width of keys, as far as the settings tell it."""
        if settings.get("encoder") is not None:
            return {}
        return {"memory/keys": shape[0] if len(shape) == 1 else settings["projection_size"]}

    def check_parts(self) -> None:
        """The unfinished episode fits the loop and the encoder."""
        self.recall.check(self.loop)


def discounted_returns(
    rewards: Sequence[float], discount: float, *, following: float = 0.0, known: Doubles | None = None
) -> Floats:
    """Rₜ = rₜ₊₁ + λ Rₜ₊₁ for every step of a stretch of an episode; `following` is what comes after it.

    With `known`, the best value V that is stored of each of its states: Rₜ = rₜ₊₁ + λ max(Rₜ₊₁, V(sₜ₊₁)).
    """
    returns = np.empty(len(rewards), np.float32)
    for t in range(len(rewards) - 1, -1, -1):
        following = rewards[t] + discount * following
        returns[t] = following
        if known is not None:
            following = max(following, float(known[t]))
    return returns
