"""Who may use an agent at a time: one thread its parts, and one call that changes what it is."""

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from threading import Lock, RLock
from typing import Any, Self, TypeVar

from engram.errors import InvalidInputError

Event = TypeVar("Event")


class Turns:
    """The locks of one agent; a copy of the agent has its own."""

    def __init__(self) -> None:
        self.lock = RLock()  # held by whichever thread uses the parts of the agent, for one step or one prediction
        self._learning = Lock()  # held while `learn` goes on
        self._count = 0  # turns taken

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)()

    def __reduce__(self) -> Any:
        return type(self), ()

    @contextmanager
    def taken(self, instead: str) -> Iterator[None]:
        """While entered, no other call may change what the agent is; `instead` says what one can do that wants to."""
        if not self._learning.acquire(blocking=False):
            raise InvalidInputError(f"the agent is learning in another thread, or in a call around this one; {instead}")
        self._count += 1
        try:
            yield
        finally:
            self._learning.release()

    def uninterrupted(self, events: Generator[Event]) -> Generator[Event]:
        """The same events; InvalidInputError when they are to go on after another call took its turn in between."""
        return self._uninterrupted(events, self._count)

    def _uninterrupted(self, events: Generator[Event], count: int) -> Generator[Event]:
        with closing(events):
            while self._count == count:
                try:
                    event = next(events)
                except StopIteration:
                    return
                yield event
        raise InvalidInputError(
            "since these events were asked for the agent has learned by other means, or was given another state or "
            "environment, so that they cannot go on; ask for new ones: agent.events(…)"
        )
