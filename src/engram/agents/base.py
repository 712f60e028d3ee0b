"""What all agents share: learning in an environment, predicting, saving and loading."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from engram import checks
from engram.agents.config import AgentConfig, strategy_from_json
from engram.agents.policy import LinearSchedule, greedy, greedy_by_hash
from engram.envs import Env, EnvLike, EnvSource
from engram.errors import EngramError, InvalidInputError, ModelFileError
from engram.files.arrays import Model, read_model, write_model
from engram.memory.strategies import Strategy
from engram.randomness import generator, generator_state, set_generator_state
from engram.training.events import Event
from engram.training.loop import LoopState, play, replay_game
from engram.training.progress import ProgressBar
from engram.typing import Array, Floats

# what reading a state dict of the wrong form raises
MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError, RuntimeError)


class Agent(ABC):
    """An agent bound to a kind of environment.

    Args:
        env: An environment id, a Gymnasium environment, or a function that makes one.
        settings: The fields of `Config`, by name.
    """

    name: ClassVar[str]  # in files and on the command line; the class's name if not given
    label: ClassVar[str]  # in tables and figures; the name if not given
    Config: ClassVar[type[AgentConfig]] = AgentConfig
    has_memory: ClassVar[bool] = False  # it has an EpisodicMemory as `memory`
    has_replay: ClassVar[bool] = False  # it has a replay of observations as `replay`
    step_cost: ClassVar[float] = 1.0  # time of a step of training, in steps of MFEC
    default_steps: ClassVar[int] = 15_000  # of a run whose length is not said
    config: Any

    def __init__(self, env: EnvLike, **settings: Any) -> None:
        self.config = self.Config.from_settings(settings)
        self.source = EnvSource(env)
        self.loop = LoopState(seed=self.seed)
        self.policy_rng = generator(self.seed, "policy")
        self._prediction_rng = generator(self.seed, "prediction")
        self.epsilon = LinearSchedule(
            self.config.epsilon_initial,
            self.config.epsilon_final,
            self.config.epsilon_anneal_start_steps,
            self.config.epsilon_anneal_end_steps,
        )
        self._env: Env | None = None
        self._env_moved = False
        self._build()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = vars(cls).get("name", cls.__name__)
        cls.label = vars(cls).get("label", cls.name)
        env = inspect.Parameter("env", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=EnvLike)
        settings = [
            inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=field.type)
            for field in fields(cls.Config)
        ]
        cls.__signature__ = inspect.Signature([env, *settings])  # type: ignore[attr-defined]

    @property
    def seed(self) -> int:
        """The seed that determines everything random about the agent."""
        return int(self.config.seed)

    @property
    def steps(self) -> int:
        """Steps of training taken so far."""
        return self.loop.step

    def epsilon_at(self, step: int) -> float:
        """The probability of a random action at a step of training."""
        return self.epsilon(step)

    # What an algorithm defines -------------------------------------------------------------------------

    @abstractmethod
    def _build(self) -> None:
        """Make the agent's parts from `self.config` and `self.source`."""

    @abstractmethod
    def act(self, observation: Array, step: int) -> int:
        """Choose an action for training, and remember what was seen."""

    @abstractmethod
    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Take in what followed, and learn from it."""

    @abstractmethod
    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations, [B, …] → [B, actions]; changes nothing."""

    @abstractmethod
    def _forget_episode(self) -> None:
        """Drop what was remembered of the unfinished episode."""

    @abstractmethod
    def _parts(self) -> dict[str, Any]:
        """What must be saved beside the loop and the policy's generator: a state dict for each name."""

    @abstractmethod
    def _load_parts(self, parts: dict[str, Any]) -> None:
        """Take back what `_parts` gave."""

    @abstractmethod
    def _check_parts(self) -> None:
        """Raise InvalidInputError unless what `_parts` gives fits together."""

    @classmethod
    def _sizes(cls, settings: dict[str, Any], shape: list[int]) -> dict[str, int]:
        """Of the arrays in a file that decide how much is allocated: by path, the width that the settings ask for."""
        return {}

    # What a user calls ---------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        *,
        progress_bar: bool = False,
        callbacks: Sequence[Callable[[Event], object]] = (),
    ) -> Self:
        """Take `total_timesteps` more steps of training. Every event is handed to every callback."""
        steps = checks.at_least("total_timesteps", total_timesteps, 1)
        if not progress_bar:
            for event in self.events(steps):
                for callback in callbacks:
                    callback(event)
            return self
        with ProgressBar(self, steps) as bar:
            return self.learn(steps, callbacks=(bar, *callbacks))

    def events(self, total_timesteps: int) -> Iterator[Event]:
        """Learn as `learn` does, as a generator: one step at a time, at the caller's pace."""
        env = self._environment()
        return play(
            self,
            env,
            self.loop,
            until=self.loop.step + total_timesteps,
            shape=self.source.observation_shape,
            first_action=self.source.first_action,
        )

    def predict(
        self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True
    ) -> tuple[Any, Any]:
        """The action for an observation, or the actions for a batch of them, and `state` as given.

        Deterministic prediction is a pure function of the observation; otherwise the agent explores as it does
        in training, with a generator of its own.
        """
        self._env_moved |= self.source.shared  # whoever predicts may also have stepped the environment
        batch = np.asarray(observation)
        shape = self.source.observation_shape
        single = batch.shape == shape
        if single:
            batch = batch[None]
        if batch.shape[1:] != shape or batch.ndim != len(shape) + 1:
            raise InvalidInputError(
                f"observation must have shape {shape}, or (batch, {', '.join(map(str, shape))}), got {batch.shape}"
            )
        batch = batch.astype(self.source.observation_dtype, copy=False)
        q = self.q_values(batch)
        if deterministic:
            actions = greedy_by_hash(q, batch, self.seed, self.config.ties)
        else:
            rng, epsilon = self._prediction_rng, self.epsilon(self.steps)
            ties = self.config.ties
            actions = np.array(
                [rng.integers(len(row)) if rng.random() < epsilon else greedy(row, rng, ties) for row in q]
            )
        actions = actions + self.source.first_action
        return (actions[0] if single else actions), state

    def abandon_game(self) -> None:
        """Drop the unfinished game and its episode; learning goes on with a new one."""
        self.loop.end_game()
        self._forget_episode()

    def save(self, path: str | Path) -> None:
        """Write everything that the agent is, mid-episode included, to one safetensors file."""
        write_model(Path(path), self.name, self.describe(), self.state_dict())

    @classmethod
    def load(cls, path: str | Path, env: EnvLike | None = None, *, strategy: Strategy | None = None) -> Self:
        """An agent from a file, ready to predict and to go on learning exactly where it was.

        `env` is needed if the agent was not trained in an environment with an id, `strategy` if it was trained
        with a strategy of your own.
        """
        model = read_model(Path(path))
        if model.agent != cls.name:
            raise ModelFileError(f"{path} holds a {model.agent} agent, not {cls.name}; use engram.load(path)")
        try:
            return cls._from_model(model, path, env, strategy)
        except EngramError:
            raise
        except MALFORMED as error:
            raise ModelFileError(
                f"{path} is damaged: its content is not that of a {cls.name} agent ({error!r})"
            ) from error

    @classmethod
    def _from_model(cls, model: Model, path: str | Path, env: EnvLike | None, strategy: Strategy | None) -> Self:
        settings = dict(model.description["config"])
        if "strategy" in settings:
            settings["strategy"] = strategy_from_json(settings["strategy"], strategy)
        source = env if env is not None else model.description["env"]
        if source is None:
            raise InvalidInputError(f"{path} does not say how to make its environment; pass it: load(path, env)")
        if env is None and (not isinstance(source, str) or ":" in source):  # an id with a colon imports a module
            raise ModelFileError(
                f"{path} does not name a registered environment ({source!r}); pass it: load(path, env)"
            )
        check_widths(model.state, cls._sizes(settings, model.description["spaces"]["shape"]))
        agent = cls(source, **settings)
        if agent.describe()["spaces"] != model.description["spaces"]:
            raise InvalidInputError(
                f"{path} was trained with {model.description['spaces']}, but the environment has "
                f"{agent.describe()['spaces']}"
            )
        agent.load_state_dict(model.state)
        return agent

    def describe(self) -> dict[str, Any]:
        """What the agent is made from: its environment, that one's spaces, and every setting."""
        source = self.source
        spaces = {"shape": list(source.observation_shape), "dtype": source.observation_dtype.str}
        return {
            "env": source.name,
            "spaces": spaces | {"actions": source.actions},
            "config": self.config.to_json(),
        }

    def state_dict(self) -> dict[str, Any]:
        """Everything that the agent has learned and must remember, as plain data and arrays."""
        return {
            "loop": self.loop.state_dict(),
            "policy_rng": generator_state(self.policy_rng),
            **self._parts(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; the unfinished game is replayed when learning goes on."""
        self._load_parts({name: part for name, part in state.items() if name not in ("loop", "policy_rng")})
        self.loop.load_state_dict(state["loop"])
        set_generator_state(self.policy_rng, state["policy_rng"])
        self._env_moved = True
        self.check_valid()

    def check_valid(self) -> None:
        """Raise InvalidInputError, saying what is wrong, unless all that the agent must remember fits together."""
        self.loop.check_valid(self.source.observation_shape, self.source.observation_dtype, self.source.actions)
        self._check_parts()

    def _environment(self) -> Env:
        """The environment to learn in, where the unfinished game was left."""
        fresh = self._env is None
        if self._env is None:
            self._env = self.source.make()
        if fresh or self._env_moved:
            replay_game(self._env, self.loop, first_action=self.source.first_action)
            self._env_moved = False
        return self._env


def check_widths(state: dict[str, Any], widths: dict[str, int]) -> None:
    """Raise KeyError or ValueError unless arrays, by path, have the number of columns that is expected."""
    for path, width in widths.items():
        array: Any = state
        for name in path.split("/"):
            array = array[name]
        if array.shape[1] != width:
            raise ValueError(f"{path} has {array.shape[1]} columns, the settings ask for {width}")


def check_episode(
    length: int,
    keys: list[Any],
    key_size: int,
    actions: int,
    states: list[int],
    taken: list[int],
    *numbers: list[float],
) -> None:
    """Raise InvalidInputError unless the buffers of an unfinished episode have an entry for each of its steps."""
    same = all(len(buffer) == length for buffer in (keys, states, taken, *numbers))
    inside = all(0 <= action < actions for action in taken) and all(key.shape == (key_size,) for key in keys)
    finite = all(isfinite(number) for buffer in numbers for number in buffer) and all(
        bool(np.isfinite(np.asarray(key.tolist())).all()) for key in keys
    )
    if not (same and inside and finite):
        raise InvalidInputError(
            f"the unfinished episode is not valid: it should have {length} steps with actions from 0 to "
            f"{actions - 1}, keys of size {key_size} and finite numbers"
        )
