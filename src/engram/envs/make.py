"""Environments from a name, a Gymnasium environment, or a function that makes one."""

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

import gymnasium
import numpy as np
from gymnasium import wrappers
from gymnasium.envs.registration import load_env_creator

from engram import checks
from engram.envs.atari import NEEDS_ALE, OPTIONS, AtariGame, checked_options, has_ale, is_game, may_be_game
from engram.envs.faults import is_wish_to_stop, said_by
from engram.envs.forms import form_of
from engram.envs.limits import is_limited
from engram.envs.modules import import_own
from engram.envs.names import Named, compose, imports_nothing, parse, parse_id
from engram.envs.wrapper_state import SWITCH, GameStates
from engram.envs.wrapping import wrap, wrappers_of
from engram.errors import EngramError, FaultyEnvironmentError, InvalidInputError, MissingExtraError
from engram.plain_data import as_plain, comes_back

Env = gymnasium.Env[Any, Any]
EnvLike = str | Env | Callable[[], Env]
LIMIT = "max_episode_steps"  # the option with which any environment ends its episodes


class EnvSource:
    """Makes environments from what the user passed, and knows their spaces.

    Attributes:
        name: The string from which files can make the environment again; None if there is none.
        shared: Whether the user passed one environment, of which no second can be made.
        limited: Whether episodes are known to end after a number of steps.
        form: How observations become the arrays that agents see.
        observation_shape: The shape of one such array.
        observation_dtype: The dtype of one such array.
        actions: The number of actions.
        first_action: The environment's number for action 0; the others follow it.
    """

    def __init__(self, env: EnvLike) -> None:
        self._env = env
        self.shared = isinstance(env, gymnasium.Env)
        self._ready: Env | None = self._new()
        self.name = env if isinstance(env, str) else registered_name(self._ready)
        self.limited = is_limited(self._ready)
        self._read_spaces(self._ready)

    def peek(self) -> Env:
        """The environment that `make` returns next, to be looked at only."""
        if self._ready is None:
            self._ready = self._new()
        return self._ready

    def game_states(self) -> GameStates:
        """What the wrappers of such an environment remember from game to game, before the first."""
        return GameStates(self.peek())

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
        if isinstance(self._env, gymnasium.vector.VectorEnv):
            raise InvalidInputError(
                "an agent learns in one environment at a time, got a vector environment; pass an id, one environment "
                "or a function that makes one (predict and evaluate_policy take vector environments)"
            )
        if callable(self._env):
            env = self._env()
            if isinstance(env, gymnasium.Env):
                return env
            raise InvalidInputError(f"the function given as env must return a Gymnasium environment, got {env!r}")
        raise InvalidInputError(
            f"env must be an environment id, a Gymnasium environment or a function that makes one, got {self._env!r}"
        )

    def _read_spaces(self, env: Env) -> None:
        name, actions = self.name or type(env.unwrapped).__name__, env.action_space
        if not isinstance(actions, gymnasium.spaces.Discrete):
            raise InvalidInputError(
                f"{name} has the action space {actions}, but episodic control needs a Discrete one: it keeps one "
                "table per action; wrap the environment so that it has a few fixed actions (for a Box: "
                "gymnasium.wrappers.DiscretizeAction, on the command line --wrapper DiscretizeAction?bins=3)"
            )
        self.form = form_of(env.observation_space, name)
        self.observation_shape, self.observation_dtype = self.form.shape, self.form.dtype
        self.actions = int(actions.n)
        self.first_action = int(actions.start)


def registered_name(env: Env) -> str | None:
    """The string from which an equal environment can be made without importing anything; None if there is none."""
    spec = env.spec
    registered = None if spec is None else gymnasium.registry.get(spec.id)
    if spec is None or registered is None:
        return None
    limit, links = _wrapper_links(env, spec)
    if links is None:
        return None
    shown = any(link.name == "AddRenderObservation" for link in links)
    options = {key: value for key, value in spec.kwargs.items() if shown or key != "render_mode"}
    if limit != registered.max_episode_steps:
        options["max_episode_steps"] = -1 if limit is None else limit
    try:
        name = compose([(spec.id, _unusual(options, registered.kwargs)), *links])
    except InvalidInputError:  # options that are no plain data
        return None
    return name if imports_nothing(name) else None


def _wrapper_links(env: Env, spec: Any) -> tuple[int | None, list[Named] | None]:
    """The time limit with which an environment was made, and its wrappers; None if a file cannot name one of them."""
    limit: int | None = None
    links: list[Named] = []
    recorded = iter(spec.additional_wrappers)  # in the same order, without those that `gymnasium.make` adds
    for wrapper in wrappers_of(env):
        kind = type(wrapper)
        if kind in (wrappers.PassiveEnvChecker, wrappers.OrderEnforcing):
            continue
        if kind is wrappers.TimeLimit:
            if limit is None and not links:
                limit = wrapper._max_episode_steps
            else:
                links.append(Named(kind.__name__, {"max_episode_steps": wrapper._max_episode_steps}))
            continue
        arguments = getattr(next(recorded, None), "kwargs", None)
        stands_still = not getattr(wrapper, SWITCH, True)  # which no name can say
        if getattr(wrappers, kind.__name__, None) is not kind or arguments is None or stands_still:
            return limit, None
        usual = {key: each.default for key, each in inspect.signature(kind).parameters.items()}
        links.append(Named(kind.__name__, _unusual(arguments, usual)))
    return limit, links


def _unusual(options: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not as usual."""
    return {key: value for key, value in options.items() if key not in usual or not _are_same(value, usual[key])}


def _are_same(one: Any, other: Any) -> bool:
    """Whether two options are equal, arrays among them; False for what cannot be compared."""
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return type(one) is type(other) and one.dtype == other.dtype and np.array_equal(one, other)
    try:
        return bool(one == other)
    except Exception:  # whatever an object of any class may raise
        return False


def resolved_options(name: str) -> dict[str, Any]:
    """Every keyword argument with which the environment itself is made, as far as it is registered.

    It is plain data, for people to read: of anything else it says only what it is.
    """
    plain, options = parse_id(name)
    if is_game(plain):
        return {"game": plain, **OPTIONS, **options}
    spec = gymnasium.registry.get(plain)
    usual = {} if spec is None else as_plain(dict(spec.kwargs))
    told = {key: value if comes_back(value) else f"a {type(value).__name__}" for key, value in usual.items()}
    return told | options


def make_by_id(name: str, *, render_mode: str | None = None) -> Env:
    """An environment by its string: an id, an Atari game or `module:Class`, with options and wrappers.

    An environment that knows no render modes is made without one.
    """
    first, *around = parse(name)
    env = _make(first, name, render_mode)
    for wrapper in around:
        env = wrap(env, wrapper)
    return env


def _nearest_id(module: str, own: str) -> str:
    """A question that names the id most like what was given, with its module if one was named."""
    close = checks.nearest(own, [*gymnasium.registry, *(vars(import_own(module)) if module else ())])
    return close.replace("did you mean '", f"did you mean '{module}:") if module else close


def _make(first: Named, name: str, render_mode: str | None) -> Env:
    """The environment itself, without the wrappers that are named."""
    plain, options = first.name, dict(first.options)
    if is_game(plain):
        checked_options(options)  # also those that its constructor has for itself
        return AtariGame(plain, **({} if render_mode is None else {"render_mode": render_mode}), **options)
    if plain.startswith("ALE/") and has_ale():
        import_module("ale_py")  # registers the ids that begin with ALE/
    module, _, own = plain.rpartition(":")
    maker = getattr(import_own(module), own, None) if module else None
    try:
        if module and own not in gymnasium.registry and callable(maker):
            limit = None if takes(maker, LIMIT) else options.pop(LIMIT, None)
            env: Any = maker(**{**options, **_rendering(maker, render_mode)})
            if isinstance(env, gymnasium.Env):
                return env if limit is None else gymnasium.wrappers.TimeLimit(env, limit)
            raise InvalidInputError(f"{name!r} must name a Gymnasium environment, but it makes {env!r:.100}")
        maker = None if render_mode is None else _creator(own)
        return gymnasium.make(own, **{**options, **_rendering(maker, render_mode)})
    except MissingExtraError:
        raise
    except gymnasium.error.UnregisteredEnv as error:
        if may_be_game(plain):
            raise MissingExtraError(f"unknown environment id {name!r}; if it is an Atari game: {NEEDS_ALE}") from error
        close = _nearest_id(module, own)
        raise InvalidInputError(
            f"unknown environment id {name!r}; {close}{'Otherwise ' if close else ''}name the module that registers or "
            "makes it (module:id), or pass the environment or a function that makes it from Python"
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


def _creator(name: str) -> Any:
    """What makes environments of a registered id; None if that is not known."""
    spec = gymnasium.registry.get(name)
    if spec is None or spec.entry_point is None:
        return None
    return load_env_creator(spec.entry_point) if isinstance(spec.entry_point, str) else spec.entry_point


def takes(maker: Any, argument: str) -> bool:
    """Whether what makes an environment has an argument of this name, or takes any."""
    try:
        parameters = inspect.signature(maker).parameters if callable(maker) else {}
    except ValueError:  # a class of another language
        parameters = {}
    return argument in parameters or any(each.kind is each.VAR_KEYWORD for each in parameters.values())


def _rendering(maker: Any, render_mode: str | None) -> dict[str, str]:
    """The render mode as an argument, if whatever makes the environment takes one."""
    if render_mode is None:
        return {}
    modes = getattr(maker, "metadata", {}).get("render_modes", [])
    taken = takes(maker, "render_mode")
    known = not isinstance(maker, type) or render_mode in modes
    return {"render_mode": render_mode} if not callable(maker) or (taken and known) else {}
