"""In the place of an environment: what a file tells of it, which is enough to predict actions."""

from math import prod
from typing import Any, NoReturn

import numpy as np

from engram.envs.observed import NUMBERS
from engram.errors import InvalidInputError


LARGEST = 2**31  # numbers in an observation, or actions


class AbsentEnv:
    """The spaces of an environment that is not there, in the place of an `EnvSource`.

    Args:
        described: What a model file says of the agent; raises KeyError, TypeError or ValueError for what cannot be.
    """

    shared = False

    def __init__(self, described: dict[str, Any]) -> None:
        spaces, first = described["spaces"], described.get("first_action", 0)
        shape, actions, dtype = spaces["shape"], spaces["actions"], np.dtype(spaces["dtype"])
        if not all(type(number) is int and 0 < number < LARGEST for number in (*shape, actions)):
            raise ValueError(f"observations of shape {shape!r:.80} and {actions!r:.80} actions cannot be")
        if not (1 <= len(shape) <= 3 and prod(shape) < LARGEST and dtype.kind in NUMBERS and type(first) is int):
            raise ValueError(f"observations of shape {shape!r:.80} and dtype {dtype!r:.80} cannot be")
        self.name: str | None = described["env"]
        self.observation_shape: tuple[int, ...] = tuple(shape)
        self.observation_dtype = dtype
        self.actions, self.first_action = actions, first

    def make(self) -> NoReturn:
        """Raise InvalidInputError: there is no environment."""
        raise InvalidInputError(
            "the agent was loaded for prediction, without an environment; to let it learn, give it one: "
            "agent.set_env(env), or load(path, env)"
        )
