"""Environments whose step is compiled: Gymnasium's own, with the same bits, in a tenth of the time or less.

Evaluations take ten times as many steps as training does, and CartPole's and Acrobot's arithmetic in Python takes most
of their time. Only an environment that is exactly Gymnasium's, with its own constants, is quickened, and only where
the compiled step gives the same bits as Gymnasium's on this machine, which is tried once per process. Everything
else about it, wrappers too, stays as it is.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.acrobot import AcrobotEnv
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

from engram.envs.classic_steps import step_acrobot, step_cartpole

Env = gymnasium.Env[Any, Any]
Answer = tuple[Any, float, bool, bool, dict[str, Any]]
TRIED_STEPS = 300


def quickened(env: Env) -> Env:
    """The environment; its step is compiled if it is one of those above."""
    inner: Any = env.unwrapped
    kind: Any = type(inner)
    step = _STEPS.get(kind)
    if step is not None and inner.render_mode is None and _is_plain(inner) and _has_same_bits(kind):
        inner.step = partial(step, inner)
    return env


def _step_cartpole(env: Any, action: int) -> Answer:
    if env.steps_beyond_terminated is not None or not _can_be_taken(env, action):
        return type(env).step(env, action)  # type: ignore[no-any-return] # which has something to say about that
    state, observation = np.array(env.state, np.float64), np.empty(4, np.float32)
    fell = step_cartpole(state, action, observation)
    env.state = state
    if fell:
        env.steps_beyond_terminated = 0
    return observation, 1.0, fell, False, {}


def _step_acrobot(env: Any, action: int) -> Answer:
    if not _can_be_taken(env, action):
        return type(env).step(env, action)  # type: ignore[no-any-return]
    state, observation = np.array(env.state, np.float64), np.empty(6, np.float32)
    reached = step_acrobot(state, action, observation, 2.0)
    env.state = state
    return observation, 0.0 if reached else -1.0, reached, False, {}


def _can_be_taken(env: Any, action: Any) -> bool:
    return env.state is not None and type(action) is int and 0 <= action < env.action_space.n


_STEPS: dict[type, Callable[[Any, int], Answer]] = {CartPoleEnv: _step_cartpole, AcrobotEnv: _step_acrobot}


def _is_plain(inner: Any) -> bool:
    """Whether everything that the arithmetic uses is as in a new environment of the class."""
    return _constants(inner) == _constants(type(inner)())


def _constants(inner: Any) -> dict[str, Any]:
    """The numbers and names that an environment was made with, those of its class too."""
    values = vars(type(inner)) | vars(inner)
    return {name: value for name, value in values.items() if _is_constant(name, value)}


def _is_constant(name: str, value: Any) -> bool:
    return isinstance(value, bool | int | float | str | list) and not name.startswith(("__", "_np_random"))


@cache
def _has_same_bits(kind: Any) -> bool:
    """Whether the compiled step and Gymnasium's lead through the same states, bit for bit."""
    ours, theirs = kind(), kind()
    actions = np.random.default_rng(0).integers(ours.action_space.n, size=TRIED_STEPS).tolist()
    ours.reset(seed=0), theirs.reset(seed=0)
    for number, action in enumerate(actions):
        mine, other = _STEPS[kind](ours, action), theirs.step(action)
        same = mine[1:] == other[1:] and mine[0].tobytes() == other[0].tobytes()
        if not (same and np.asarray(ours.state).tobytes() == np.asarray(theirs.state).tobytes()):
            return False
        if mine[2]:
            ours.reset(seed=number), theirs.reset(seed=number)
    return True
