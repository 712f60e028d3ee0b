"""The agent: what an algorithm defines of it, and what a user calls."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from copy import deepcopy
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from engram import checks
from engram.agents.common.config import AgentConfig
from engram.agents.common.loading import load_as
from engram.agents.common.metrics import metrics_of_memory, metrics_of_starts, rounded
from engram.agents.common.model_file import MALFORMED, as_path, write_model
from engram.agents.common.policy import spaces_arrays
from engram.agents.common.predicting import explored_actions, possible_values
from engram.agents.common.recorded import follow, recorded
from engram.agents.common.saved import part_in_pieces, part_state
from engram.agents.common.settings import signature_of, takes
from engram.agents.common.tally import Tally
from engram.agents.common.turns import Turns
from engram.agents.common.whole_state import check_can_be_saved, check_whole, load_whole_state, whole_state
from engram.agents.common.world import World
from engram.envs import Env, EnvLike, EnvSource
from engram.envs.absent import AbsentEnv
from engram.envs.forms import say_once
from engram.envs.masks import as_masks
from engram.envs.observed import as_batch
from engram.envs.wrapper_state import GameStates, States
from engram.errors import DivergedError, EngramError, InvalidInputError
from engram.exploration import Exploration, View
from engram.exploration.epsilon_greedy import EpsilonGreedy
from engram.exploration.greedy import greedy_by_hash
from engram.files.archives import write_archive
from engram.memory.quick import Desk
from engram.parts import Spaces
from engram.randomness import generator
from engram.sources import is_ours, source_digest
from engram.training.events import NO_METRICS, Event, Metrics, Step
from engram.training.listening import CallbackLike, Listeners, as_list
from engram.training.loop import LoopState, check_action, play
from engram.typing import Array, Doubles, Floats, Longs

AT_THE_DOOR = {"q_values", "distances"}  # methods of every agent that users hand observations to
ANY_SETTINGS: Callable[..., Any] = AgentConfig  # for type checkers, which do not know the settings of your own agents


def checked(method: Callable[[Any, Array], Floats]) -> Callable[[Any, Any], Floats]:
    """The same method for anything that a user may hand over: it gets checked arrays only, one thread at a time."""

    @wraps(method)
    def at_the_door(agent: Any, observations: Any) -> Floats:
        batch = agent.batch(observations)
        with agent.lock:
            return method(agent, batch)

    return at_the_door


class Agent(ABC):
    """An agent bound to a kind of environment.

    To write your own, derive from this class and define `build`, `act`, `observe` and `q_values`; name in `saved` the
    attributes that must be saved. The settings are the fields of `Config`.

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
    saved: ClassVar[tuple[str, ...]] = ()  # attributes to save: arrays, generators, and objects with a `state_dict`
    config: Any

    @takes(ANY_SETTINGS)
    def __init__(self, env: EnvLike, config: AgentConfig) -> None:
        self._begin(env, config)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = vars(cls).get("name", cls.__name__)
        cls.label = vars(cls).get("label", cls.name)
        cls.__signature__ = signature_of(cls.Config)  # type: ignore[attr-defined]
        for name in AT_THE_DOOR & set(vars(cls)):
            setattr(cls, name, checked(vars(cls)[name]))

    def _begin(self, env: EnvLike | AbsentEnv, config: AgentConfig) -> None:
        """Initialise the agent with a config."""
        self.config = config
        self._turns = Turns()
        self.world = World(env if isinstance(env, AbsentEnv) else EnvSource(env))
        say_once(self.source.form.note)
        self.spaces = Spaces(self.source.observation_shape, self.source.observation_dtype, self.source.actions)
        self.loop = LoopState(seed=self.seed)
        self.tally = Tally()
        self.policy_rng = generator(self.seed, "policy")
        self._prediction_rng = generator(self.seed, "prediction")
        self.exploration: Exploration = config.chosen_exploration().build(
            self.spaces, generator(self.seed, "exploration")
        )
        if self.exploration.needs_distances and not self.has_memory:
            raise InvalidInputError(
                f"the exploration {self.exploration.name!r} needs distances to remembered states, and {self.label} has "
                "no memory; choose another one, or an agent with a memory"
            )
        self._desk: Desk | None = None  # where one compiled call carries out a step, if an algorithm has that
        self.build()
        for name in self.saved:
            if not hasattr(self, name):
                raise InvalidInputError(f"{self.label}.saved names {name!r}, but build() made no such attribute")
        check_can_be_saved(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A copy of the agent as it is between two steps, also while another thread lets it learn."""
        copy = type(self).__new__(type(self))
        memo[id(self)] = copy
        with self.lock:
            vars(copy).update(deepcopy(vars(self), memo))
        return copy

    @property
    def lock(self) -> Any:
        """Held by whichever thread uses the parts of the agent, for one step or one prediction."""
        return self._turns.lock

    @property
    def source(self) -> EnvSource:
        """Where its environments come from."""
        return self.world.source

    @property
    def wrappers(self) -> GameStates:
        """What the wrappers of its environment have learned."""
        return self.world.wrappers

    @property
    def seed(self) -> int:
        """The seed that determines everything random about the agent."""
        return int(self.config.seed)

    @property
    def steps(self) -> int:
        """Steps of training taken so far."""
        return self.loop.step

    def __repr__(self) -> str:
        where = self.source.name or "an environment of its own"
        return f"<{self.label} in {where}: {self.steps:,} steps, {self._repr_parts()}seed {self.seed}>"

    def _repr_parts(self) -> str:
        return "".join(f"{name} {part.spec()}, " for name, part in self.config.parts().items())

    # What an algorithm defines -------------------------------------------------------------------------

    @abstractmethod
    def build(self) -> None:
        """Make the agent's own parts from `self.config` and `self.spaces`."""

    @abstractmethod
    def act(self, observation: Array, step: int) -> int:
        """Choose an action for training, and remember what was seen."""

    @abstractmethod
    def observe(self, reward: float, observation: Array, terminated: bool, truncated: bool) -> None:
        """Learn from the reward and the observation that followed the action."""

    @abstractmethod
    def q_values(self, observations: Array) -> Floats:
        """Q of every action for a batch of observations, [B, …] → [B, actions]; changes nothing.

        Whatever a user hands over was checked: an algorithm gets an array of the environment's shape and dtype.
        """

    def distances(self, observations: Array) -> Floats:
        """Squared distances to the nearest remembered states, [B, …] → [B, actions]; only agents with a memory."""
        raise InvalidInputError(f"{self.label} has no memory, so there are no distances")

    def choose(self, step: int, view: View) -> int:
        """The exploration's action for a training step, if the environment has it and allows it."""
        allowed = self.loop.allowed
        action: Any = self.exploration.choose(step, self.policy_rng, view if allowed is None else view.only(allowed))
        possible = type(action) is int and 0 <= action < view.actions
        chosen = action if possible else check_action(action, view.actions, step)
        return chosen if allowed is None else int(allowed[chosen])

    def is_plain(self) -> bool:
        """Whether observations are vectors of float32, and actions are chosen by ε-greedy exploration alone."""
        vectors = len(self.spaces.observation_shape) == 1 and self.spaces.observation_dtype == np.float32
        return vectors and type(self.exploration) is EpsilonGreedy and type(self).choose is Agent.choose

    def begin_episode(self) -> None:
        """Called before the first step of every training episode."""
        self.exploration.begin_episode()
        self.tally.begin_episode(self.loop.allowed)

    def forget_episode(self) -> None:
        """Drop what was remembered of the unfinished episode."""

    def settle_tally(self) -> None:
        """Finish what `self.tally` is still to be told of learning steps; called before it is read."""

    def check_parts(self) -> None:
        """Raise InvalidInputError unless what is saved fits together, beyond what each part checks by itself."""

    def policy_arrays(self) -> dict[str, Array]:
        """What chooses greedy actions, for `export_policy`: an encoder, a network, a memory."""
        raise InvalidInputError(f"{self.label} does not say how its policy is exported: it has no policy_arrays()")

    def check_learned(self) -> None:
        """Raise an error unless what was learned is such that it can be loaded again; called before it is saved."""

    @classmethod
    def widths(cls, settings: dict[str, Any], shape: list[int]) -> dict[str, int]:
        """Columns that arrays of a file must have, by path, to be checked before anything is allocated."""
        return {}

    def batch(self, observations: Any) -> Array:
        """Observations that a user gave as an array as the agent sees them, [B, …], if they can be used."""
        form = self.source.form
        return as_batch(form.read(observations)[0], form.shape, form.dtype)

    def example(self) -> Array:
        """The observation of the unfinished game, or zeros, as a batch of one."""
        seen, spaces = self.loop.observation, self.spaces
        return np.zeros((1, *spaces.observation_shape), spaces.observation_dtype) if seen is None else seen[None]

    # What a user calls ---------------------------------------------------------------------------------

    def learn(
        self,
        total_timesteps: int,
        callback: CallbackLike = None,
        *,
        progress_bar: bool = False,
        reset_num_timesteps: bool = False,
    ) -> Self:
        """Take `total_timesteps` more steps of training, or fewer if a callback returns False.

        `callback` is a function that gets every event, a `Callback`, one of Stable-Baselines3's, or a list of these.
        """
        steps = checks.at_least("total_timesteps", total_timesteps, 1)
        if checks.flag("reset_num_timesteps", reset_num_timesteps):
            raise InvalidInputError(
                "learn(n) always takes n more steps, so reset_num_timesteps must be False; to begin again from step 0, "
                f"make a new agent: {self.label}(env, …)"
            )
        if not progress_bar:
            listeners = Listeners(self, callback, steps)
            with self._turns.taken("an agent learns in one at a time"):
                self._learn(steps, listeners)
            return self
        from engram.training.progress import ProgressBar  # noqa: PLC0415 (rich draws from Python's generator on import)

        with ProgressBar(self, steps) as bar:
            return self.learn(steps, [bar, *as_list(callback)])

    def _learn(self, steps: int, listeners: Listeners) -> None:
        """Take steps, and tell of what happens."""
        with closing(self._events(steps, heard=bool(listeners))) as events, self.world.watched(), listeners:
            for event in events:
                listeners(event)
                if listeners.stopped and isinstance(event, Step):
                    break

    def learn_from(self, episodes: Iterable[Any]) -> Self:
        """Learn from recorded episodes as if the agent had lived through them; their steps count as its own.

        An episode is an object with attributes, or a mapping with keys, `observations` (one more than actions),
        `actions`, `rewards`, `terminations` and `truncations`, as in Minari, whose datasets can be given as they are.
        """
        if self.loop.observation is not None:
            raise InvalidInputError(
                "the agent is in the middle of a game, which recorded episodes would interrupt; call "
                "agent.abandon_game() first to drop it, or learn_from() before learn()"
            )
        if self.wrappers.statistics:
            raise InvalidInputError(
                f"the environment has {', '.join(self.wrappers.statistics)}, so that the agent sees observations or "
                "rewards by statistics of its own steps, which recorded episodes were not made with; make the agent "
                'without the wrapper, and for observations with encoder="scaled"'
            )
        for episode in recorded(episodes, self.batch, self.spaces.actions, self.source.first_action):
            with self.lock:
                follow(self, episode)
        return self

    def events(self, total_timesteps: int) -> Iterator[Event]:
        """Learn as `learn` does, as a generator: one step at a time, at the caller's pace.

        It can be left at any event. To go on after `learn`, `set_env` or `load_state_dict`, ask for new events.
        """
        return self._turns.uninterrupted(self._events(total_timesteps, heard=True))

    def _events(self, total_timesteps: int, *, heard: bool) -> Generator[Event]:
        """Learn as a generator of events, or of nothing if nobody listens."""
        steps = checks.at_least("total_timesteps", total_timesteps, 0)
        env = self.world.enter(self.loop)
        self.tally.listening = heard
        if not heard:
            self.tally.clear()
        events = play(
            self,
            env,
            self.loop,
            until=self.loop.step + steps,
            spaces=self.spaces,
            first_action=self.source.first_action,
            lock=self.lock,
            heard=heard,
            after_game=self.wrappers.begin_game if self.wrappers.start else None,
        )
        return self.wrappers.followed(env, events, lambda: self.loop.resetting) if self.wrappers.start else events

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
        action_masks: Any = None,
    ) -> tuple[Any, Any]:
        """The action for an observation, or the actions for a batch of them, and `state` as given.

        Observations are as the environment gives them, a batch as a vector environment does. Deterministic prediction
        is a pure function of the observation; otherwise the agent explores as it does in training, with a generator of
        its own. `action_masks`, 0 or 1 for each action of each observation, says which actions are possible.
        """
        self.world.note_prediction()
        given, single = self.source.form.read(observation)
        batch = self.batch(given)
        deterministic = checks.flag("deterministic", deterministic)
        masks = None if action_masks is None else as_masks(action_masks, len(batch), self.spaces.actions, single=single)
        evaluate: Any = type(self).q_values  # without the check at its door, which the batch has passed
        with self.lock:
            q = evaluate.__wrapped__(self, batch)
            if deterministic:
                chosen = greedy_by_hash(possible_values(q, masks), batch, self.seed, self.config.ties)
            else:
                measure = (lambda row: self.distances(batch[row : row + 1])[0]) if self.has_memory else None
                view = View(self.spaces.actions, q_values=lambda row: q[row], distances=measure, ties=self.config.ties)
                rng = self._prediction_rng
                chosen = explored_actions(self.exploration, view, self.steps, rng, len(batch), masks)
        actions = chosen + self.source.first_action
        return (actions[0] if single else actions), state

    def wrapper_states(self) -> States:
        """What the training environment's wrappers have learned so far, such as means of observations."""
        with self.lock:
            return self.wrappers.now()

    @property
    def num_timesteps(self) -> int:
        """Steps of training taken so far, by the name that Stable-Baselines3 has for them."""
        return self.loop.step

    def get_env(self) -> Env:
        """The environment that the agent learns in, made now if there was none yet.

        Whoever has it may step it between two calls of `learn`: an unfinished game is replayed before the next.
        """
        return self.world.lend()

    def set_env(self, env: EnvLike) -> None:
        """Go on learning in another environment of the same kind; the unfinished game of this one is dropped.

        Wrappers that keep statistics go on from those that the agent learned with.
        """
        with self._turns.taken("set its environment before or after"):
            source = EnvSource(env)
            spaces = Spaces(source.observation_shape, source.observation_dtype, source.actions)
            if spaces != self.spaces or source.first_action != self.source.first_action:
                raise InvalidInputError(f"the agent has {self.spaces}, but the environment has {spaces}")
            world, states = World(source), self.wrappers.now()
            if self.steps:
                world.wrappers.load_state_dict({"start": states, "now": states})
            self.abandon_game()
            self.world.close()
            self.world = world

    def take_metrics(self, length: int) -> Metrics:
        """What was measured of the episode of this length that has just ended, by name: see docs/metrics.md."""
        if not self.tally.is_due(self.steps, length):
            self.tally.start = None
            return NO_METRICS
        self.settle_tally()
        epsilon = self.exploration.random_share(self.steps)
        return rounded(({} if epsilon is None else {"explore/epsilon": epsilon}) | self.tally.take())

    def measure(self, starts: Array, followed: Doubles, masks: Array | None = None) -> Metrics:
        """Metrics of an evaluation whose episodes began with these observations, and their discounted returns.

        `masks` say which actions were possible there; by default all.
        """
        q = self.q_values(starts)
        apart = None if type(self).distances is Agent.distances else self.distances(starts)
        kept = metrics_of_memory(self.memory) if self.has_memory else {}  # type: ignore[attr-defined]
        return rounded(metrics_of_starts(q, apart, followed, masks) | kept)

    def measure_visits(self, observations: Array, actions: Longs) -> Metrics:
        """Metrics of states that an evaluation visited, and the actions taken in them: how well they are known."""
        if type(self).distances is Agent.distances:
            return {}
        apart = self.distances(observations)[np.arange(len(actions)), actions].astype(np.float64)
        known = np.isfinite(apart)
        metrics = {"play/exact": float((apart == 0).mean())}
        return rounded(metrics | ({"play/distance": float(np.sqrt(apart[known]).mean())} if known.any() else {}))

    def plot_memory(self, axes: str | None = None) -> Any:
        """A picture of what the memory holds, one panel per action: it has `save`, and a notebook shows it.

        `axes` are two numbers of an observation, such as "0,2", or their names; by default the most telling ones.
        """
        pictures = import_module("engram.pictures")  # which needs an extra, and knows agents
        return pictures.plot_memory(self, axes)

    def abandon_game(self) -> None:
        """Drop the unfinished game and its episode; learning goes on with a new one."""
        with self.lock:
            self.loop.end_game()
            self.wrappers.begin_game()
            self.forget_episode()
            self.tally.clear()

    def save(self, path: str | Path) -> None:
        """Write everything that the agent is, mid-episode included, to one safetensors file."""
        with self.lock:
            write_model(as_path(path), self.name, self.describe(), self.state_in_pieces())

    def export_policy(self, path: str | Path) -> None:
        """Write what chooses the greedy actions as a NumPy archive, which needs no Engram to be read."""
        if self.wrapper_states():
            raise InvalidInputError(
                "a policy cannot be exported with what the environment's wrappers have learned; save the agent itself, "
                'or train with encoder="scaled" instead of the wrapper'
            )
        with self.lock:
            common = spaces_arrays(self.spaces, self.source.first_action, self.seed, self.config.ties)
            write_archive(as_path(path), {**common, **self.policy_arrays()})

    @classmethod
    def load(cls, path: str | Path, env: EnvLike | None = None, *, for_prediction: bool = False, **parts: Any) -> Self:
        """An agent from a file or a run's folder, ready to predict and to go on learning exactly where it was.

        `env` is needed if the agent was not trained in an environment with an id; `for_prediction` makes none, and the
        agent predicts only. A part of your own that it was trained with (`strategy=`, `encoder=`, `exploration=`,
        `network=`) has to be given again.
        """
        agent: Self = load_as(cls, path, env, parts, for_prediction=for_prediction)
        return agent

    def describe(self) -> dict[str, Any]:
        """What the agent is made from: its environment, what that one gives and takes, and every setting."""
        shape, dtype, actions = self.spaces
        described = {
            "env": self.source.name,
            "spaces": {"shape": list(shape), "dtype": dtype.str, "actions": actions},
            "config": self.config.to_json(),
        }
        first = {} if self.source.first_action == 0 else {"first_action": self.source.first_action}
        form = {} if (told := self.source.form.describe()) is None else {"form": told}
        own = {} if is_ours(type(self).__module__) else {"source": source_digest(type(self))}
        return described | first | form | own

    def state_dict(self) -> dict[str, Any]:
        """Everything that the agent has learned and must remember, as plain data and arrays."""
        return self._state(part_state)

    def state_in_pieces(self) -> dict[str, Any]:
        """As `state_dict`, for writing to a file at once: large arrays are made piece by piece as they are written.

        What could not be loaded again is refused here, before anything that was saved earlier is replaced by it.
        """
        try:
            self.check_learned()
        except InvalidInputError as error:
            raise DivergedError(f"learning has diverged, so that nothing can be saved: {error}") from error
        return self._state(part_in_pieces) if type(self).state_dict is Agent.state_dict else self.state_dict()

    def _state(self, state_of: Callable[[Any], Any]) -> dict[str, Any]:
        with self.lock:
            return whole_state(self, state_of)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave; the unfinished game is replayed when learning goes on.

        After an error the agent may be half of one and half of the other: load another state, or make a new agent.
        """
        try:
            with self._turns.taken("load a state before or after"), self.lock:
                self._load_state(state)
        except EngramError:
            raise
        except MALFORMED as error:
            raise InvalidInputError(f"the state is not that of a {self.name} agent ({error!r:.300})") from error

    def _load_state(self, state: dict[str, Any]) -> None:
        load_whole_state(self, state)

    def check_valid(self) -> None:
        """Raise InvalidInputError, saying what is wrong, unless all that the agent must remember fits together."""
        with self.lock:
            check_whole(self)
