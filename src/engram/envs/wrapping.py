"""Wrappers by name: Gymnasium's own, and those of the user's own modules."""

from typing import Any

import gymnasium

from engram import checks
from engram.envs.faults import is_wish_to_stop, said_by
from engram.envs.names import SAFE_WRAPPERS, Named
from engram.errors import EngramError, InvalidInputError
from engram.parts import import_class

Env = gymnasium.Env[Any, Any]


def wrap(env: Env, wrapper: Named) -> Env:
    """The environment in a wrapper; InvalidInputError where the wrapper cannot be made."""
    options = {key: tuple(value) if isinstance(value, list) else value for key, value in wrapper.options.items()}
    kind = find_wrapper(wrapper.name)
    try:
        wrapped: Env = kind(env, **options)
    except EngramError:
        raise
    except BaseException as error:  # whatever a wrapper says of an environment or options that it cannot take
        if is_wish_to_stop(error):
            raise
        raise InvalidInputError(
            f"cannot wrap the environment in {wrapper.name!r} with the options {wrapper.options}: {said_by(error)}"
        ) from error
    return wrapped


def find_wrapper(name: str) -> Any:
    """The class of a wrapper: one of Gymnasium's by its bare name, or `module:Class`."""
    module, _, own = name.rpartition(":")
    if module:
        return import_class(module, own, gymnasium.Wrapper, name)
    if name in SAFE_WRAPPERS:
        return getattr(gymnasium.wrappers, name)
    raise InvalidInputError(
        f"unknown wrapper {name!r}; {checks.nearest(name, SAFE_WRAPPERS)}by their names: {', '.join(SAFE_WRAPPERS)}; "
        "your own, and Gymnasium's others: module:Class"
    )


def wrappers_of(env: Any) -> list[Any]:
    """The wrappers around an environment, from the innermost to the outermost."""
    found = []
    while isinstance(env, gymnasium.Wrapper):
        found.append(env)
        env = env.env
    return found[::-1]
