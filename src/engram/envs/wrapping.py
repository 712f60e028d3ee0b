"""Wrappers by name: Gymnasium's own, and those of the user's own modules."""

from math import prod
from typing import Any

import gymnasium
import numpy as np

from engram import checks
from engram.envs.faults import is_wish_to_stop, said_by
from engram.envs.forms import MOST_NUMBERS
from engram.envs.layouts import layout_of
from engram.envs.names import SAFE_WRAPPERS, Named
from engram.errors import EngramError, InvalidInputError
from engram.parts import import_class

Env = gymnasium.Env[Any, Any]


def wrap(env: Env, wrapper: Named) -> Env:
    """The environment in a wrapper; InvalidInputError where the wrapper cannot be made."""
    kind = find_wrapper(wrapper.name)
    if (numbers := _numbers_in(env, wrapper)) > MOST_NUMBERS:
        raise InvalidInputError(
            f"{wrapper.name} with the options {wrapper.options!s:.100} makes {numbers:,} numbers of an observation or "
            f"an action, and at most {MOST_NUMBERS:,} can be used; choose smaller ones, or if a file named it that is "
            "not yours, do not trust it"
        )
    try:
        options = {key: _as_taken(value, wrapper.name, env) for key, value in wrapper.options.items()}
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


def _as_taken(value: Any, wrapper: str, env: Env) -> Any:
    """A list, which JSON has for all that is in order, as a wrapper takes it: limits as an array, others as a tuple."""
    if not isinstance(value, list):
        return value
    return np.array(value, env.observation_space.dtype) if wrapper == "RescaleObservation" else tuple(value)


def _numbers_in(env: Env, wrapper: Named) -> int:
    """How many numbers a wrapper of Gymnasium's makes of an observation or action, as its options say; otherwise 0."""
    options = wrapper.options
    match wrapper.name:
        case "FrameStackObservation":
            return _width(env.observation_space) * _product(options.get("stack_size"))
        case "DiscretizeObservation" | "DiscretizeAction":
            bins, observed = options.get("bins"), wrapper.name == "DiscretizeObservation"
            width = _width(env.observation_space if observed else env.action_space)
            return width * max(map(_product, bins if isinstance(bins, list) else [bins]), default=0)
        case "ResizeObservation":
            return _product(options.get("shape"))
        case "AtariPreprocessing":
            side = options.get("screen_size", 0)
            return _product(side if isinstance(side, list) else [side, side])
    return 0


def _width(space: Any) -> int:
    """The numbers of an observation or an action, if it consists of numbers."""
    try:
        return layout_of(space).width
    except InvalidInputError:
        return 1


def _product(numbers: Any) -> int:
    """A whole number, or several multiplied; 0 for anything else, of which the wrapper itself says what is wrong."""
    listed = numbers if isinstance(numbers, list) else [numbers]
    return prod(listed) if all(type(each) is int for each in listed) else 0


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
