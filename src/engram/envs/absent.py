"""In the place of an environment: what a file tells of it, which is enough to predict actions."""

from math import prod
from typing import Any, NoReturn

import numpy as np

from engram.envs.make import EnvSource
from engram.envs.observed import NUMBERS
from engram.errors import InvalidInputError

LARGEST = 2**31  # numbers in an observation, or actions


class AbsentEnv(EnvSource):
    """The spaces of an environment that is not there; whoever asks for it is told what to do.

    Args:
        described: What a model file says of the agent; raises KeyError, TypeError or ValueError for what cannot be.
    """

    def __init__(self, described: dict[str, Any]) -> None:
        spaces, first = described["spaces"], described.get("first_action", 0)
        shape, actions, dtype = spaces["shape"], spaces["actions"], np.dtype(spaces["dtype"])
        if not all(type(number) is int and 0 < number < LARGEST for number in (*shape, actions)):
            raise ValueError(f"observations of shape {shape!r:.80} and {actions!r:.80} actions cannot be")
        if not (1 <= len(shape) <= 3 and prod(shape) < LARGEST and dtype.kind in NUMBERS and type(first) is int):
            raise ValueError(f"observations of shape {shape!r:.80} and dtype {dtype!r:.80} cannot be")
        self.name, self.shared, self._ready = described["env"], False, None
        self.observation_shape, self.observation_dtype = tuple(shape), dtype
        self.actions, self.first_action = actions, first

    def _new(self) -> NoReturn:
        raise InvalidInputError(
            "the agent was loaded for prediction, without an environment; to let it learn, give it one: "
            "agent.set_env(env), or load(path, env)"
        )
