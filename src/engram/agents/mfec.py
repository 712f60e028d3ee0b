"""Model-free episodic control (Blundell et al. 2016): act by the best returns that similar states have seen."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from engram import checks
from engram.agents.base import Agent, check_episode
from engram.agents.config import AgentConfig
from engram.agents.policy import greedy
from engram.encoders import GaussianProjection, Identity
from engram.hashing import state_of
from engram.memory import EpisodicMemory
from engram.memory.batch import check_merging
from engram.memory.strategies import Strategy, get_strategy
from engram.randomness import generator
from engram.typing import Array, Floats


@dataclass(frozen=True, kw_only=True)
class MFECConfig(AgentConfig):
    """Hyperparameters of MFEC. The defaults are those of the paper's Table 4; the paper varies the first two."""

    strategy: str | Strategy = "lru"  # what is forgotten: lru, rew, sur, kmeans, dkm, fading; options: dkm:decay=0.3
    capacity: int = 10_000  # entries per action
    neighbours: int = 11  # k, entries that a read averages over
    kernel: Literal["inverse", "mean"] = "inverse"  # weights 1/(d² + δ), or equal weights
    delta: float = 1e-3  # δ, which keeps the weights finite
    projection_size: int = 128  # key size for images; vectors are their own keys
    duplicates: bool = False  # a state met before counts as a new one
    merging: Literal["single", "episode"] = "single"  # clusters take in an episode's states one by one, or as one batch
    device: Literal["cpu", "cuda", "auto"] = "cpu"  # where the memory's keys are

    def __post_init__(self) -> None:
        super().__post_init__()
        check_merging(self.merging, get_strategy(self.strategy))
        for name in ("capacity", "neighbours", "projection_size"):
            checks.at_least(name, getattr(self, name), 1)


class MFEC(Agent):
    """Model-free episodic control.

    Q(s, a) is read from the table of action a; when an episode ends, each of its states is written into the
    table of the action taken there, with the discounted return that followed.
    """

    name = "mfec"
    label = "MFEC"
    has_memory = True
    Config = MFECConfig
    config: MFECConfig

    def _build(self) -> None:
        config, source = self.config, self.source
        shape = source.observation_shape
        self.encoder: Identity | GaussianProjection
        if len(shape) == 1:
            self.encoder = Identity(shape[0])
        else:
            self.encoder = GaussianProjection(shape, config.projection_size, generator(self.seed, "encoder"))
        self.memory = EpisodicMemory(
            actions=source.actions,
            key_size=self.encoder.key_size,
            capacity=config.capacity,
            strategy=config.strategy,
            neighbours=config.neighbours,
            delta=config.delta,
            kernel=config.kernel,
            merging=config.merging,
            device=config.device,
        )
        self._forget_episode()

    def _forget_episode(self) -> None:
        self._keys: list[Floats] = []
        self._states: list[int] = []
        self._actions: list[int] = []
        self._rewards: list[float] = []

    def act(self, observation: Array, step: int) -> int:
        """ε-greedy on the memory. An explored step needs no lookup."""
        keys = self.encoder(observation[None])  # [1, key_size]
        rng = self.policy_rng
        if rng.random() < self.epsilon(step):
            action = int(rng.integers(self.source.actions))
        else:
            action = greedy(self.memory.read(keys, touch=True)[0], rng, self.config.ties)
        self._keys.append(keys[0])
        self._states.append(step if self.config.duplicates else state_of(observation))
        self._actions.append(action)
        return action

    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Keep the reward; at the end of the episode, write what it taught."""
        self._rewards.append(reward)
        if terminated or truncated:
            self._write_episode()
            self._forget_episode()

    def _write_episode(self) -> None:
        """Rₜ = rₜ₊₁ + λ Rₜ₊₁, stored for every (sₜ, aₜ) in order of time."""
        returns = np.empty(len(self._rewards), np.float32)
        following = 0.0
        for t in range(len(returns) - 1, -1, -1):
            following = self._rewards[t] + self.config.discount * following
            returns[t] = following
        keys, actions = np.array(self._keys), np.array(self._actions)
        states = np.array(self._states, np.uint64)
        for action in range(self.source.actions):
            taken = actions == action
            if taken.any():
                self.memory.write(action, keys[taken], returns[taken], states=states[taken])

    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations; touches nothing."""
        values: Floats = self.memory.read(self.encoder(observations))
        return values

    @classmethod
    def _sizes(cls, settings: dict[str, Any], shape: list[int]) -> dict[str, int]:
        return {"memory/keys": shape[0] if len(shape) == 1 else settings["projection_size"]}

    def _check_parts(self) -> None:
        self.memory.check_valid()
        episode = (self._states, self._actions, self._rewards)
        check_episode(self.loop.length, self._keys, self.memory.key_size, self.source.actions, *episode)

    def _parts(self) -> dict[str, Any]:
        return {
            "memory": self.memory.state_dict(),
            "unfinished": {
                "keys": np.array(self._keys, np.float32).reshape(-1, self.encoder.key_size),
                "states": np.array(self._states, np.uint64),
                "actions": np.array(self._actions, np.int32),
                "rewards": np.array(self._rewards, np.float64),
            },
        }

    def _load_parts(self, parts: dict[str, Any]) -> None:
        self.memory.load_state_dict(parts["memory"])
        unfinished = parts["unfinished"]
        self._keys = list(unfinished["keys"])
        self._states = unfinished["states"].tolist()
        self._actions = unfinished["actions"].tolist()
        self._rewards = unfinished["rewards"].tolist()
