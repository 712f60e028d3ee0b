"""In the place of an environment: what a file tells of it, which is enough to predict actions."""

from copy import deepcopy
from typing import Any, NoReturn

import gymnasium
import numpy as np

from engram import checks
from engram.envs.forms import Form, form_from
from engram.envs.given import NUMBERS
from engram.envs.make import EnvSource
from engram.envs.wrapper_state import GameStates
from engram.errors import InvalidInputError
from engram.files.exact_state import from_form
from engram.typing import Array

MOST_ACTIONS = 2**31


class KeptStates(GameStates):
    """What the wrappers of an environment that is not there remembered; evaluations in one that is there use it."""

    def __init__(self) -> None:
        super().__init__(gymnasium.Env())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Keep what a file has."""
        start, now = dict(state.get("start", {})), dict(state.get("now", {}))
        if start.keys() != now.keys():
            raise InvalidInputError("states of wrappers when a game began and now must be of the same wrappers")
        from_form([start, now])  # which says so where it is none
        self.start, self._now = deepcopy(start), deepcopy(now)


class AsSeen(Form):
    """Observations as the agent sees them, where a file says nothing of how the environment gives them."""

    def read(self, given: Any, who: str = "observations") -> tuple[Array, bool]:
        """The observations as they are; one that has another shape may be as an unknown environment gives it."""
        try:
            array, single = super().read(given, who)
        except InvalidInputError:  # no array at all
            array, single = np.empty(0), False
        if array.shape[1:] != self.shape:
            raise InvalidInputError(
                f"{who} must have shape {self.shape}, or (batch, …) for several, got {checks.shown(given, 100)}; the "
                "agent was loaded without its environment, and its file does not say that this one gives observations "
                "in another form; older files never do: if it gives dicts, tuples, whole numbers or images with "
                "channels last, load the agent with it, load(path, env), and save it again"
            )
        return array, single


class AbsentEnv(EnvSource):
    """The spaces of an environment that is not there; whoever asks for it is told what to do.

    Args:
        described: What a model file says of the agent; raises KeyError, TypeError or ValueError for what cannot be.
    """

    def __init__(self, described: dict[str, Any]) -> None:
        spaces, first = described["spaces"], described.get("first_action", 0)
        shape, actions, dtype = tuple(spaces["shape"]), spaces["actions"], np.dtype(spaces["dtype"])
        if not all(type(number) is int and 0 < number < MOST_ACTIONS for number in (*shape, actions)):
            raise ValueError(f"observations of shape {shape!r:.80} and {actions!r:.80} actions cannot be")
        if not (1 <= len(shape) <= 3 and dtype.kind in NUMBERS and type(first) is int):
            raise ValueError(f"observations of shape {shape!r:.80} and dtype {dtype!r:.80} cannot be")
        self.name, self.shared, self.limited, self._ready = described["env"], False, False, None
        self.form = form_from(described["form"], dtype) if "form" in described else AsSeen(shape, dtype)
        if (self.form.shape, self.form.dtype) != (shape, dtype):
            raise ValueError(f"observations of the form {described['form']!r:.80} are not of shape {shape!r:.80}")
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
