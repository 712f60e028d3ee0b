"""Python's collection of garbage, put off."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Pause:
    """Who wants garbage to be left alone; collecting begins again when nobody does."""

    def __init__(self) -> None:
        self._lock, self._count, self._was_on = Lock(), 0, False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def begin(self) -> None:
        with self._lock:
            if self._count == 0:
                self._was_on = gc.isenabled()
                gc.disable()
            self._count += 1

    def end(self) -> None:
        with self._lock:
            self._count -= 1
            if self._count == 0 and self._was_on:
                gc.enable()

    def _after_fork(self) -> None:
        """In a process that was forked no other thread goes on, so that none will end its pause."""
        paused, self._lock, self._count = self._count > 0, Lock(), 0
        if paused and self._was_on:
            gc.enable()


_PAUSE = _Pause()


@contextmanager
def uncollected() -> Iterator[None]:
    """While entered, by any thread, no garbage is collected."""
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()
