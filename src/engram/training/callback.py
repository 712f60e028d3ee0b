"""What a callback is: it hears of each event while an agent learns, and may stop it."""

from collections.abc import Iterable
from typing import Any

from engram.training.events import Evaluation, Event


class Callback:
    """Hears of every event while an agent learns. Derive from this class, and define what you need of it.

    A callback must leave the agent as it is, and play only in environments of its own.
    """

    def catch_up(self, agent: Any, events: Iterable[Event]) -> None:
        """Called first in a run's folder: the episodes and evaluations that the run has behind it, in order."""

    def begin(self, agent: Any) -> None:
        """Called before the first step."""

    def on_event(self, agent: Any, event: Event) -> bool | Evaluation | None:
        """Called with every event. False ends training after this step; an evaluation is told to all callbacks."""

    def end(self, agent: Any) -> None:
        """Called after the last step, also where an error or a signal was the reason."""
