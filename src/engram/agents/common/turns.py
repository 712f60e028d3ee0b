"""Who may use an agent at a time: one thread its parts, and one call of `learn`."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Any, Self

from engram.errors import InvalidInputError


class Turns:
    """The locks of one agent; a copy of the agent has its own."""

    def __init__(self) -> None:
        self.lock = RLock()  # held by whichever thread uses the parts of the agent, for one step or one prediction
        self._learning = Lock()  # held while `learn` goes on

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self)()

    def __reduce__(self) -> Any:
        return type(self), ()

    @contextmanager
    def learning(self, instead: str) -> Iterator[None]:
        """While entered, no other call may let the agent learn; `instead` says what one can do that wants to."""
        if not self._learning.acquire(blocking=False):
            raise InvalidInputError(f"the agent is learning in another thread, or in a call around this one; {instead}")
        try:
            yield
        finally:
            self._learning.release()
