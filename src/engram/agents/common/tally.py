"""What is measured of training while someone listens."""

from math import isfinite
from typing import Any

import numpy as np

from engram.checks import MOST_STEPS, is_number
from engram.errors import InvalidInputError
from engram.networks.dense import NO_SUMS
from engram.typing import Doubles, Floats, Longs

INTERVAL_STEPS = 200  # in which at most one episode is measured: where episodes are short, that would take long
SUMS = ("learning_steps", "loss", "gradient")


class Tally:
    """Sums over learning steps since an episode was last measured, and Q at the start of the unfinished one.

    They are part of the agent's state, so that what is measured does not depend on interruptions.
    """

    def __init__(self) -> None:
        self.listening = False  # whether anyone wants to know; otherwise nothing is measured
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._sums = np.zeros(len(SUMS))
        self.start: float | None = None  # max over the possible a of Q(s, a) in the first state, as it was then
        self.allowed: Longs | None = None  # the actions that are possible there; None: all
        self.found: dict[str, float] = {}  # what was measured when the episode ended

    @property
    def sums(self) -> Doubles:
        """Where a learning step adds 1, its loss and the norm of its gradient; nowhere if nobody listens."""
        return self._sums if self.listening else NO_SUMS

    def begin_episode(self, allowed: Longs | None) -> None:
        """An episode begins, in a state in which these actions are possible; None: all."""
        self.allowed = allowed if self.listening else None

    def note_start(self, q: Floats) -> None:
        """Note what the first state of the episode is worth, given Q of all actions there."""
        self.start = float((q if self.allowed is None else q[self.allowed]).max())

    def is_due(self, step: int, length: int) -> bool:
        """Whether an episode of this length that ends with this step is measured: the first in every 200 steps."""
        return self.listening and step // INTERVAL_STEPS > (step - length) // INTERVAL_STEPS

    def take(self) -> dict[str, float]:
        """The metrics of an episode that is measured, and has ended."""
        steps, loss, gradient = self._sums.tolist()
        learned = {"learn/loss": loss / steps, "learn/gradient": gradient / steps} if steps else {}
        start = {} if self.start is None else {"values/start": self.start}
        metrics = learned | start | self.found
        self.clear()
        return metrics

    def state_dict(self) -> dict[str, Any]:
        """What is there; nothing where nobody has listened."""
        sums = dict(zip(SUMS, self._sums.tolist(), strict=True)) if self._sums[0] else {}
        begun = {"start": self.start, "allowed": None if self.allowed is None else self.allowed.copy()}
        return sums | {name: value for name, value in begun.items() if value is not None}

    def load_state_dict(self, state: dict[str, Any], actions: int) -> None:
        """Restore what `state_dict` gave of an agent with so many actions."""
        self.clear()
        numbers = dict(state)
        if "allowed" in numbers:
            self.allowed = checked_actions(numbers.pop("allowed"), actions)
        for name, value in numbers.items():
            if name not in (*SUMS, "start") or not is_number(value) or not isfinite(value):
                raise InvalidInputError(f"what was measured of an episode is not valid: {name!r:.40} is {value!r:.40}")
        if not 0 <= state.get("learning_steps", 0) <= MOST_STEPS:
            raise InvalidInputError("what was measured of an episode is not valid: learning steps are counted from 0")
        self._sums[:] = [state.get(name, 0.0) for name in SUMS]
        self.start = state.get("start")


def checked_actions(allowed: Any, actions: int) -> Longs:
    """The actions that are possible in a state, if they are some of so many."""
    if not isinstance(allowed, np.ndarray) or allowed.dtype != np.int64 or allowed.ndim != 1 or not len(allowed):
        raise InvalidInputError(f"actions that are possible must be listed as whole numbers, got {allowed!r:.80}")
    if allowed.min() < 0 or allowed.max() >= actions:
        raise InvalidInputError(f"actions must be from 0 to {actions - 1}, got {allowed!r:.80}")
    return allowed
