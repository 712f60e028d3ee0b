"""An environment as training and evaluation meet it: what it answers is checked, and its errors are told as its own."""

from typing import Any, NoReturn

import numpy as np
from gymnasium.error import DependencyNotInstalled

from engram.envs.faults import is_wish_to_stop, said_by
from engram.envs.forms import Form, form_of
from engram.envs.given import as_array
from engram.envs.make import Env
from engram.envs.masks import allowed_actions
from engram.envs.observed import FLOAT32, FLOAT64, all_usable, as_numbers, is_usable, refuse
from engram.errors import EngramError, FaultyEnvironmentError, MissingExtraError
from engram.typing import Array, Longs

LARGEST_REWARD = 1e15  # up or down: float32 can hold sums of such rewards, and the squares of those
RESET = "reset() must return an observation and a dict"
STEP = "step() must return an observation, a reward, terminated, truncated and a dict"
UNFILMED = (
    "; it was made without a render mode, since its constructor takes no render_mode or its metadata do not name "
    '"rgb_array" among the render_modes'
)
OLD = " (four values are the interface of gym before 0.26; gymnasium's has terminated and truncated instead of done)"


Answer = tuple[Array, float, bool, bool, bool]  # observation, reward, terminated, truncated, life_lost


class CheckedEnv:
    """An environment whose observations are arrays as the agent sees them, and whose rewards are finite numbers.

    `step` in messages is the number of the step at which the environment was asked.

    Attributes:
        form: How observations become arrays.
        allowed: The actions, counted from 0, that the last answer's `action_mask` allows; None: all of them.
    """

    def __init__(self, env: Env) -> None:
        self._env, self._step = env, env.step
        self.form: Form = form_of(env.observation_space, type(env.unwrapped).__name__)
        self._shape, self._dtype, self._as_given = self.form.shape, self.form.dtype, self.form.plain
        self._actions = int(env.action_space.n)  # type: ignore[attr-defined]
        self.allowed: Longs | None = None
        vector = len(self._shape) == 1 and self._dtype in (FLOAT32, FLOAT64)
        self._is_usable: Any = all_usable if vector else is_usable  # the kernel itself, where it takes them as they are

    def reset(self, seed: int, step: int = 0) -> Array:
        """Begin a game; its first observation."""
        try:
            observation, info = self._env.reset(seed=seed)
        except BaseException as error:
            _blame(error, "reset()", RESET, step)
        if not isinstance(info, dict):
            raise FaultyEnvironmentError(f"{RESET}, got {info!r:.80} for the dict; check the environment")
        self.allowed = allowed_actions(info["action_mask"], self._actions, step) if "action_mask" in info else None
        return self._observation(observation, step)

    def step(self, action: int, step: int) -> Answer:
        """Take an action; what it led to. With `life_lost` an episode of training ends, but not the game."""
        life_lost: Any = False
        mask: Any = None
        try:
            observation, reward, terminated, truncated, info = self._step(action)
            if len(info):
                life_lost, mask = info.get("life_lost", False), info.get("action_mask")
        except BaseException as error:
            _blame(error, "step()", STEP, step)
        if type(reward) is not float or not -LARGEST_REWARD <= reward <= LARGEST_REWARD:
            reward = _reward(reward, step)
        if type(terminated) is not bool or type(truncated) is not bool or type(life_lost) is not bool:
            terminated, truncated = _flag("terminated", terminated, step), _flag("truncated", truncated, step)
            life_lost = _flag("life_lost", life_lost, step)
        self.allowed = None
        if mask is not None and not (terminated or truncated):  # when a game is over a mask may allow nothing
            self.allowed = allowed_actions(mask, self._actions, step)
        return self._observation(observation, step), reward, terminated, truncated, life_lost

    def _observation(self, observation: Any, step: int) -> Array:
        """An observation as a finite array of the expected shape and dtype, in order and writable."""
        if not self._as_given:
            rows, _ = self.form.read(observation, _who(step))
            observation = rows[0] if len(rows) == 1 else rows
        fits = type(observation) is np.ndarray and observation.dtype is self._dtype and observation.shape == self._shape
        array: Array = observation if fits and observation.flags.carray else self._fitted(observation, step)
        if not self._is_usable(array):
            refuse(array, _who(step))
        return array

    def _fitted(self, observation: Any, step: int) -> Array:
        """The observation in the dtype of its space, if it has the right shape and its numbers can be held there."""
        array = as_array(observation, _who(step))
        if array.shape != self._shape:
            raise FaultyEnvironmentError(
                f"the environment gave an observation of shape {array.shape} at step {step}, "
                f"but its observation space has {self._shape}; check the environment"
            )
        fitted = array if array.dtype == self._dtype else as_numbers(array, self._dtype, _who(step))
        return fitted if fitted.flags.carray and fitted.dtype is self._dtype else fitted.astype(self._dtype, "C")


def _who(step: int) -> str:
    """What to call an observation in an error."""
    return f"the observation that the environment gave at step {step}"


def render(env: Env) -> Array:
    """The environment's picture of where it is, [height, width, 3] bytes."""
    try:
        picture = env.render()
    except NotImplementedError as error:
        raise FaultyEnvironmentError("the environment cannot be filmed: it has no render()") from error
    except BaseException as error:
        _blame(error, "render()", "render() must return a picture", 0)
    array = np.asarray(picture)
    if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or not array.size:
        got = f"an array of {array.dtype} and shape {array.shape}" if array.ndim else f"{picture!r:.80}"
        raise FaultyEnvironmentError(
            f"the environment cannot be filmed: render() must return bytes of shape (height, width, 3), got {got}"
            + ("" if env.render_mode == "rgb_array" else UNFILMED)
        )
    return array


def _blame(error: BaseException, where: str, expected: str, step: int) -> NoReturn:
    """Raise what an environment's error means: it failed by itself, or it answered in another form than expected."""
    if isinstance(error, EngramError) or is_wish_to_stop(error):
        raise error
    if isinstance(error, DependencyNotInstalled):
        raise MissingExtraError(f"the environment's {where} needs what is not installed: {error}") from error
    inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
    if inner is None and isinstance(error, ValueError | TypeError | AttributeError):  # raised where it was unpacked
        old = OLD if "expected 5, got 4" in str(error) else ""
        raise FaultyEnvironmentError(f"the environment's {expected}, got another form: {error}{old}") from error
    raise FaultyEnvironmentError(
        f"the environment raised an error in its {where} at step {step}: {said_by(error)}; "
        "the fault is in the environment"
    ) from error


def _reward(reward: Any, step: int) -> float:
    """A reward of another type as a float."""
    plain = isinstance(reward, int | float | np.number | np.bool_) or (
        isinstance(reward, np.ndarray) and reward.ndim == 0 and reward.dtype.kind in "fiub"
    )
    if not plain:
        raise FaultyEnvironmentError(
            f"the environment gave the reward {reward!r:.80} at step {step}; it must be a number: check the environment"
        )
    if not abs(reward) <= LARGEST_REWARD:
        raise FaultyEnvironmentError(
            f"the environment gave the reward {reward!s:.80} at step {step}; it must be a number of at most "
            f"{LARGEST_REWARD:g} up or down: check the environment"
        )
    return float(reward)


def _flag(name: str, value: Any, step: int) -> bool:
    """A flag of another type as a bool."""
    if isinstance(value, bool | np.bool_ | int | np.integer) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biu"
    ):
        return bool(value)
    raise FaultyEnvironmentError(
        f"the environment gave {value!r:.80} for {name!r} at step {step}; it must be True or False: check it"
    )
