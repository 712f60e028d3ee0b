"""Ending training early."""

from collections import deque
from collections.abc import Iterable
from math import inf
from time import monotonic

from engram import checks
from engram.agents import Agent
from engram.training.callback import Callback
from engram.training.events import EpisodeEnd, Evaluation, Event, Step, mean_of


class StopAtScore(Callback):
    """Ends training when an evaluation has at least this mean return.

    Without evaluations say how many `episodes` of training count instead: the mean of the last so many returns.
    """

    def __init__(self, score: float, *, episodes: int | None = None) -> None:
        self._score = checks.within("score", score, -inf, inf)
        self._last: deque[float] | None = None
        if episodes is not None:
            self._last = deque(maxlen=checks.at_least("episodes", episodes, 1))

    def catch_up(self, agent: Agent, events: Iterable[Event]) -> None:
        """Take over the returns of a run that goes on."""
        for event in events:
            self.on_event(agent, event)

    def on_event(self, agent: Agent, event: Event) -> bool | None:
        """Stop if the score is reached."""
        if self._last is None:
            return False if isinstance(event, Evaluation) and event.mean >= self._score else None
        if not isinstance(event, EpisodeEnd):
            return None
        self._last.append(event.total)
        reached = len(self._last) == self._last.maxlen and mean_of(self._last) >= self._score
        return False if reached else None


class StopAfter(Callback):
    """Ends training after so many seconds, counted from where `learn`, or the run, begins or goes on."""

    def __init__(self, seconds: float) -> None:
        self._seconds = checks.within("seconds", seconds, 0, 1e9)
        self._until = inf

    def begin(self, agent: Agent) -> None:
        """Look at the clock."""
        self._until = monotonic() + self._seconds

    def on_event(self, agent: Agent, event: Event) -> bool | None:
        """Stop if time is up."""
        return False if isinstance(event, Step) and monotonic() >= self._until else None
