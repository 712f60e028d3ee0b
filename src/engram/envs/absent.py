"""In the place of an environment: what a file tells of it, which is enough to predict actions."""

from copy import deepcopy
from math import prod
from typing import Any, NoReturn

import gymnasium
import numpy as np

from engram.envs.forms import Form
from engram.envs.given import NUMBERS
from engram.envs.make import EnvSource
from engram.envs.wrapper_state import GameStates
from engram.errors import InvalidInputError

LARGEST = 2**31  # numbers in an observation, or actions


class KeptStates(GameStates):
    """What the wrappers of an environment that is not there remembered; evaluations in one that is there use it."""

    def __init__(self) -> None:
        super().__init__(gymnasium.Env())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Keep what a file has."""
        start, now = dict(state.get("start", {})), dict(state.get("now", {}))
        if start.keys() != now.keys():
            raise InvalidInputError("states of wrappers when a game began and now must be of the same wrappers")
        self.start, self._now = deepcopy(start), deepcopy(now)


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
        self.name, self.shared, self.limited, self._ready = described["env"], False, False, None
        self.form = Form(tuple(shape), dtype)  # observations are given as the agent sees them
        self.observation_shape, self.observation_dtype = self.form.shape, self.form.dtype
        self.actions, self.first_action = actions, first

    def game_states(self) -> GameStates:
        """What the wrappers remembered, which is kept as the file has it."""
        return KeptStates()

    def _new(self) -> NoReturn:
        raise InvalidInputError(
            "the agent was loaded for prediction, without an environment; to let it learn, give it one: "
            "agent.set_env(env), or load(path, env)"
        )
