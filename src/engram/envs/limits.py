"""Does an episode end by itself at last? Where it need not, evaluation has to cut it off."""

from typing import Any

import gymnasium

from engram.envs.atari import AtariGame, is_game
from engram.envs.modules import import_own
from engram.envs.names import parse
from engram.envs.wrapping import wrappers_of


def has_time_limit(name: str) -> bool:
    """Whether episodes of an environment end after a number of steps, as far as its registration says.

    An id that names a module imports it, as making the environment does.
    """
    (plain, options), *wrappers = parse(name)
    if "max_episode_steps" in options or is_game(plain) or plain.startswith("ALE/"):
        return True
    if any(wrapper.name == "TimeLimit" for wrapper in wrappers):
        return True
    module, _, own = plain.rpartition(":")
    try:
        found = import_own(module) if module else None
    except Exception:
        return True  # making it tells what is wrong
    spec = gymnasium.registry.get(own)
    return not hasattr(found, own) if spec is None else _is_limited(spec)


def is_limited(env: Any) -> bool:
    """Whether episodes of an environment end after a number of steps, as far as its wrappers and its spec tell."""
    timed = any(isinstance(wrapper, gymnasium.wrappers.TimeLimit) for wrapper in wrappers_of(env))
    spec = env.spec
    return timed or isinstance(env.unwrapped, AtariGame) or (spec is not None and _is_limited(spec))


def _is_limited(spec: Any) -> bool:
    counted = ("max_frames", "max_num_frames_per_episode")  # as Atari games count
    return spec.max_episode_steps is not None or any(spec.kwargs.get(name) is not None for name in counted)
