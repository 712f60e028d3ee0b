"""Games that are played side by side: the environments take their steps together."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol

import numpy as np
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from engram.envs.classic_steps import step_acrobots, step_cartpoles
from engram.envs.make import Env
from engram.envs.wrapping import wrappers_of
from engram.errors import InvalidInputError
from engram.training.environment import CheckedEnv
from engram.typing import Array, Doubles, Longs

TRIED_STEPS = 300
NEVER = 2**62  # steps


class Games(Protocol):
    """Several environments, each with a game of its own.

    Attributes:
        observations: What each environment gave last, [E, ...].
    """

    observations: Array

    def begin(self, i: int, seed: int) -> None:
        """Begin a game in an environment."""

    def step(self, running: Longs, actions: Longs, lengths: Longs) -> tuple[Doubles, Array]:
        """Take actions in some of the environments; their rewards, and which games have ended.

        `lengths` are the steps of each of these games, this one included.
        """

    def allowed(self, i: int) -> Longs | None:
        """The actions, counted from 0, that are possible in an environment; None: all of them."""


def games_in(envs: Sequence[Env]) -> Games:
    """Games in these environments, with compiled steps where they are the same, bit for bit.

    They are in several of Gymnasium's CartPoles or Acrobots as `gymnasium.make` gives them: in Python their arithmetic
    takes most of an evaluation's time. An environment that is alone may be the user's own, and takes each step itself.
    """
    kind: Any = type(envs[0].unwrapped)
    tried = _tried_constants(kind) if len(envs) > 1 and kind in KERNELS else None
    if tried is not None and all(_is_plain(env, kind, tried) for env in envs):
        return CompiledGames(envs)
    return CheckedGames(envs)


class CheckedGames:
    """Games in environments of any kind, whose answers are checked."""

    def __init__(self, envs: Sequence[Env]) -> None:
        self._envs = [CheckedEnv(env) for env in envs]
        form = self._envs[0].form
        self.observations: Array = np.empty((len(envs), *form.shape), form.dtype)

    def begin(self, i: int, seed: int) -> None:
        """Begin a game in an environment."""
        self.observations[i] = self._envs[i].reset(seed)

    def step(self, running: Longs, actions: Longs, lengths: Longs) -> tuple[Doubles, Array]:
        """Take actions in some of the environments; their rewards, and which games have ended."""
        rewards, ended = np.empty(len(running)), np.empty(len(running), np.bool_)
        turns = zip(running.tolist(), actions.tolist(), lengths.tolist(), strict=True)
        for turn, (i, action, length) in enumerate(turns):
            self.observations[i], reward, terminated, truncated, _ = self._envs[i].step(action, length)
            rewards[turn], ended[turn] = reward, terminated or truncated
        return rewards, ended

    def allowed(self, i: int) -> Longs | None:
        """The actions that are possible in an environment; None: all of them."""
        return self._envs[i].allowed


class CompiledGames:
    """Games of CartPole or of Acrobot: they begin in the environments, and are played by a kernel."""

    def __init__(self, envs: Sequence[Env]) -> None:
        self._envs, self._step = envs, KERNELS[type(envs[0].unwrapped)]
        self._limits = np.array([_limit(env) for env in envs])
        self._states = np.empty((len(envs), 4))
        self._actions = int(envs[0].action_space.n)  # type: ignore[attr-defined]
        self.observations: Array = np.empty((len(envs), *envs[0].observation_space.shape), np.float32)  # type: ignore[misc]

    def begin(self, i: int, seed: int) -> None:
        """Begin a game in an environment."""
        self.observations[i], _ = self._envs[i].reset(seed=seed)
        self._states[i] = self._envs[i].unwrapped.state  # type: ignore[attr-defined]

    def step(self, running: Longs, actions: Longs, lengths: Longs) -> tuple[Doubles, Array]:
        """Take actions in some of the environments; their rewards, and which games have ended."""
        if actions.min() < 0 or actions.max() >= self._actions:  # which a kernel would take for another
            raise InvalidInputError(
                f"actions must be whole numbers from 0 to {self._actions - 1}, got {actions.tolist()!s:.80}; check "
                "what the agent's predict returns"
            )
        rewards = np.empty(len(running))
        ended: Array = self._step(self._states, running, actions, self.observations, rewards)
        return rewards, ended | (lengths >= self._limits[running])

    def allowed(self, i: int) -> None:
        """All actions are possible."""


def _step_acrobots(states: Doubles, games: Longs, actions: Longs, observations: Array, rewards: Doubles) -> Array:
    return step_acrobots(states, games, actions, observations, rewards, 2.0)


KERNELS: dict[type, Any] = {CartPoleEnv: step_cartpoles, AcrobotEnv: _step_acrobots}


def _limit(env: Env) -> int:
    """After how many steps a game is cut off."""
    limits = [wrapper._max_episode_steps for wrapper in wrappers_of(env) if isinstance(wrapper, TimeLimit)]
    return min(limits, default=NEVER)


def _is_plain(env: Env, kind: Any, constants: dict[str, Any]) -> bool:
    """Whether an environment is as `gymnasium.make` gives it, with these constants, and nobody is to see it."""
    inner: Any = env.unwrapped
    wrappers = {type(wrapper) for wrapper in wrappers_of(env)}
    return (
        type(inner) is kind
        and wrappers <= {TimeLimit, OrderEnforcing, PassiveEnvChecker}
        and inner.render_mode is None
        and _constants(inner) == constants
    )


def _constants(inner: Any) -> dict[str, Any]:
    """What the arithmetic of an environment may use: its own numbers and names, and those of its class."""
    values = vars(type(inner)) | vars(inner)
    return {
        name: tuple(value) if isinstance(value, list) else value  # which later changes of the list leave as it was
        for name, value in values.items()
        if _is_constant(name, value)
    }


def _is_constant(name: str, value: Any) -> bool:
    own = callable(value) or isinstance(value, bool | int | float | str | list)
    return own and not name.startswith(("__", "_np_random"))


@cache
def _tried_constants(kind: Any) -> dict[str, Any] | None:
    """The constants with which the compiled step and Gymnasium's own do the same on this machine; None if they do not.

    States are drawn from near 0 to far beyond those that games reach, so that every bound is met.
    """
    ours, theirs = kind(), kind()
    constants = _constants(theirs)
    games, first = CompiledGames([ours]), np.zeros(1, np.int64)
    rng = np.random.default_rng(0)
    theirs.reset(seed=0)
    for state in rng.standard_normal((TRIED_STEPS, 4)) * 10.0 ** rng.uniform(-2, 1.5, (TRIED_STEPS, 1)):
        games._states[0], theirs.state = state, state.copy()
        theirs.steps_beyond_terminated = None  # CartPole warns of steps after the end
        action = rng.integers(ours.action_space.n, size=1)
        rewards, ended = games.step(first, action, first)
        observation, reward, terminated, *_ = theirs.step(int(action[0]))
        left = np.asarray(theirs.state, np.float64)
        same = games.observations[0].tobytes() == observation.tobytes() and games._states[0].tobytes() == left.tobytes()
        if not (same and rewards[0] == reward and ended[0] == terminated):
            return None
    return constants
