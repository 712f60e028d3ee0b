"""Environments from an id, a Gymnasium environment, or a function that makes one."""

import json
import re
from collections.abc import Callable
from importlib import import_module
from math import isfinite
from typing import Any

import gymnasium
import numpy as np

from engram import checks
from engram.envs.atari import NEEDS_ALE, OPTIONS, AtariGame, has_ale, is_game, may_be_game
from engram.envs.faults import is_wish_to_stop, said_by
from engram.errors import EngramError, FaultyEnvironmentError, InvalidInputError, MissingExtraError

Env = gymnasium.Env[Any, Any]
EnvLike = str | Env | Callable[[], Env]
OURS = "engram/"  # ids of environments that check each of their options


class EnvSource:
    """Makes environments from what the user passed, and knows their spaces.

    Attributes:
        name: The id from which files can make the environment again; None if there is none.
        shared: Whether the user passed one environment, of which no second can be made.
        observation_shape: The shape of one observation.
        observation_dtype: The dtype of one observation.
        actions: The number of actions.
        first_action: The environment's number for action 0; the others follow it.
    """

    def __init__(self, env: EnvLike) -> None:
        self._env = env
        self.shared = isinstance(env, gymnasium.Env)
        self._ready: Env | None = self._new()
        self.name = env if isinstance(env, str) else registered_name(self._ready)
        self._read_spaces(self._ready)

    def make(self) -> Env:
        """A new environment, or the one that the user passed."""
        ready, self._ready = self._ready, None
        return ready if ready is not None else self._new()

    def make_several(self, count: int) -> list[Env]:
        """So many new environments, or the one that the user passed."""
        return [self.make() for _ in range(1 if self.shared else count)]

    def _new(self) -> Env:
        if isinstance(self._env, gymnasium.Env):
            return self._env
        if isinstance(self._env, str):
            return make_by_id(self._env)
        if callable(self._env):
            env = self._env()
            if isinstance(env, gymnasium.Env):
                return env
            raise InvalidInputError(f"the function given as env must return a Gymnasium environment, got {env!r}")
        raise InvalidInputError(
            f"env must be an environment id, a Gymnasium environment or a function that makes one, got {self._env!r}"
        )

    def _read_spaces(self, env: Env) -> None:
        name = self.name or type(env.unwrapped).__name__
        actions, observations = env.action_space, env.observation_space
        if not isinstance(actions, gymnasium.spaces.Discrete):
            raise InvalidInputError(
                f"{name} has the action space {actions}, but episodic control needs a Discrete one: it keeps one "
                "table per action; wrap the environment so that it has a few fixed actions"
            )
        box = isinstance(
            observations,
            gymnasium.spaces.Box | gymnasium.spaces.MultiBinary | gymnasium.spaces.MultiDiscrete,
        )
        shape = observations.shape or ()
        image = box and len(shape) in (2, 3) and observations.dtype == np.uint8
        if not (image or (box and len(shape) == 1)):
            raise InvalidInputError(
                f"{name} has the observation space {observations}, which is neither a vector nor an image of bytes; "
                "wrap the environment in gymnasium.wrappers.FlattenObservation to make its observations vectors"
            )
        self.observation_shape: tuple[int, ...] = tuple(shape)
        self.observation_dtype = np.dtype(observations.dtype)
        self.actions = int(actions.n)
        self.first_action = int(actions.start)


def registered_name(env: Env) -> str | None:
    """The id from which Gymnasium makes an equal environment; None if there is none."""
    spec = env.spec
    registered = None if spec is None else gymnasium.registry.get(spec.id)
    if spec is None or registered is None or spec.additional_wrappers:
        return None
    arguments = [{**each.kwargs, "render_mode": None} for each in (spec, registered)]
    same = arguments[0] == arguments[1] and spec.max_episode_steps == registered.max_episode_steps
    return spec.id if same else None


def parse_id(name: str) -> tuple[str, dict[str, Any]]:
    """Split `ALE/Pong-v5?frameskip=4&repeat_action_probability=0.0` into the id and a dict of its options."""
    plain, _, query = name.partition("?")
    options = {}
    for part in filter(None, query.split("&")):
        key, equals, text = part.partition("=")
        if not equals or not key.isidentifier():
            raise InvalidInputError(
                f"environment {name!r}: expected option=value after the question mark, got {part!r}"
            )
        try:
            options[key] = json.loads(text)
        except (ValueError, RecursionError):
            options[key] = text
    return plain, options


def imports_nothing(name: Any) -> bool:
    """Whether an environment's id chooses no code to run, so that a file may name it.

    It may be an id of letters, digits, `_`, `-`, `.` and `/`, which only a registered environment has, with options
    that are, once decoded, numbers, true, false, null or plain words: no text that could be a module, a path or another
    id. Engram's own environments check each option, so theirs may be any text.
    """
    if not isinstance(name, str):
        return False
    try:
        plain, options = parse_id(name)
    except InvalidInputError:
        return False
    ours = plain.startswith(OURS) or is_game(plain)
    return bool(re.fullmatch(r"[\w./-]+", plain, re.ASCII)) and all(
        is_plain(value, any_text=ours) for value in options.values()
    )


def is_plain(value: Any, *, any_text: bool) -> bool:
    """Whether an option is a finite number, true, false, null or a word, or where allowed any text."""
    if isinstance(value, str):
        return any_text or re.fullmatch(r"[\w-]*", value, re.ASCII) is not None
    return value is None or isinstance(value, bool | int) or (isinstance(value, float) and isfinite(value))


def resolved_options(name: str) -> dict[str, Any]:
    """Every keyword argument with which an environment of this id is made, as far as it is registered."""
    plain, options = parse_id(name)
    if is_game(plain):
        return {"game": plain, **OPTIONS, **options}
    spec = gymnasium.registry.get(plain)
    return {**(spec.kwargs if spec is not None else {}), **options}


def has_time_limit(name: str) -> bool:
    """Whether episodes of an environment end after a number of steps, as far as its registration says.

    An id that names a module imports it, as making the environment does.
    """
    plain, options = parse_id(name)
    if "max_episode_steps" in options or is_game(plain) or plain.startswith("ALE/"):
        return True
    module, _, own = plain.rpartition(":")
    try:
        if module:
            import_module(module)
        spec = gymnasium.registry.get(own)
    except Exception:
        spec = None
    if spec is None:
        return True  # making it tells what is wrong
    return spec.max_episode_steps is not None or spec.kwargs.get("max_frames") is not None  # as an Atari game counts


def make_by_id(name: str, *, render_mode: str | None = None) -> Env:
    """An environment by its id, or an Atari game by the name of its ROM."""
    plain, options = parse_id(name)
    if is_game(plain):
        return AtariGame(plain, render_mode=render_mode, **options)
    if plain.startswith("ALE/") and has_ale():
        import_module("ale_py")  # registers the ids that begin with ALE/
    try:
        if render_mode is not None:  # which not every environment takes
            options["render_mode"] = render_mode
        return gymnasium.make(plain, **options)
    except MissingExtraError:
        raise
    except gymnasium.error.UnregisteredEnv as error:
        if may_be_game(plain):
            raise MissingExtraError(f"unknown environment id {name!r}; if it is an Atari game: {NEEDS_ALE}") from error
        close = checks.nearest(plain, gymnasium.registry)
        raise InvalidInputError(
            f"unknown environment id {name!r}; {close}{'Otherwise ' if close else ''}register it "
            "(gymnasium.register), or pass the environment or a function that makes it from Python"
        ) from error
    except gymnasium.error.DependencyNotInstalled as error:
        raise MissingExtraError(f"the environment {name!r} needs what is not installed: {error}") from error
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        raise InvalidInputError(f"cannot make environment {name!r}: {error}") from error
    except EngramError:
        raise
    except BaseException as error:  # of its own making, or because of options that it cannot take
        if is_wish_to_stop(error):
            raise
        raise FaultyEnvironmentError(
            f"cannot make environment {name!r}: it raised {said_by(error)}; "
            "the fault is in the environment or its options"
        ) from error
