"""Compiling, as the first run after an installation does: it is told, and shared with a second process."""

import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from numba.core import event

from engram.inner_code import IN_WORK
from engram.memory.rehearsal import Rehearsal

FIRST = "compiling for this machine; this takes a few seconds once and is kept"


class CompileNotice(event.Listener):
    """While entered, tells when a kernel is compiled rather than found on disk, and then has help.

    Args:
        tell: Is called with a sentence when compiling begins for the first time.
        memory: Of the agent that is trained; what writes to it is compiled in a second process at the same time.
        show: Is called with the name of each kernel when it is begun, and with None at its end.
    """

    def __init__(
        self, tell: Callable[[str], object], *, memory: Any = None, show: Callable[[str | None], object] | None = None
    ) -> None:
        self._tell, self._memory, self._show = tell, memory, show
        self._depth, self._begun = 0, 0.0
        self._rehearsal: Rehearsal | None = None
        self.is_told = False
        self.latest_seconds = 0.0  # that the latest kernel took

    def __enter__(self) -> Self:
        event.register("numba:compile", self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        event.unregister("numba:compile", self)
        IN_WORK.clear()
        if self._rehearsal is not None:
            self._rehearsal.close()

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled; those that it calls follow within."""
        self._depth += 1
        if self._depth == 1:
            self._begin(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._depth -= 1
        if self._depth == 0:
            self._end()

    def _begin(self, kernel: str) -> None:
        if not self.is_told:
            self.is_told = True
            self._tell(FIRST)
            if Rehearsal.is_possible(self._memory):
                self._rehearsal = Rehearsal(self._memory)
                IN_WORK.update({name: partial(self._wait_for, name) for name in self._rehearsal.kernels})
        self._begun = time.monotonic()
        if self._show is not None:
            self._show(kernel)

    def _end(self) -> None:
        self.latest_seconds = time.monotonic() - self._begun
        if self._show is not None:
            self._show(None)

    def _wait_for(self, kernel: str) -> None:
        """Wait until the other process has compiled a kernel."""
        if self._rehearsal is not None:
            self._begin(kernel)
            self._rehearsal.wait_for(kernel)
            self._end()
