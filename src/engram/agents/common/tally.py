"""What is measured of training while someone listens."""

from math import isfinite
from typing import Any

import numpy as np

from engram.checks import MOST_STEPS, is_number
from engram.errors import InvalidInputError
from engram.networks.dense import NO_SUMS
from engram.typing import Doubles

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
        self.start: float | None = None  # max over a of Q(s, a) in the first state, as it was then
        self.found: dict[str, float] = {}  # what was measured when the episode ended

    @property
    def sums(self) -> Doubles:
        """Where a learning step adds 1, its loss and the norm of its gradient; nowhere if nobody listens."""
        return self._sums if self.listening else NO_SUMS

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
        return sums | ({} if self.start is None else {"start": self.start})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.clear()
        for name, value in state.items():
            if name not in (*SUMS, "start") or not is_number(value) or not isfinite(value):
                raise InvalidInputError(f"what was measured of an episode is not valid: {name!r:.40} is {value!r:.40}")
        if not 0 <= state.get("learning_steps", 0) <= MOST_STEPS:
            raise InvalidInputError("what was measured of an episode is not valid: learning steps are counted from 0")
        self._sums[:] = [state.get(name, 0.0) for name in SUMS]
        self.start = state.get("start")
