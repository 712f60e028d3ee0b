"""Stopping when asked: a signal ends whatever goes on within five seconds, with everything saved that can be."""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, ClassVar, Self

from engram.errors import Stopped

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
PATIENCE_SECONDS = 3.0  # for a whole step, before a step is given up
COMPILERS = ("numba.", "llvmlite.")  # which do not survive an error in their midst
AGAIN_SECONDS = 0.25  # between two attempts to end


def is_compiling(frame: FrameType | None) -> bool:
    """Whether a frame is part of numba's compiler, or was called by it."""
    while frame is not None and not frame.f_globals.get("__name__", "").startswith(COMPILERS):
        frame = frame.f_back
    return frame is not None


class StopRequest:
    """While entered, the first signal to stop is noted, and a second one has its usual effect.

    `end` is asked at once, and then four times a second, in whatever the main thread is doing: it saves what can be
    saved and returns the last words, with which `Stopped` is raised, or None where this is no place to end. Its
    argument says whether patience is over. Nothing is raised while a kernel is compiled, which the compiler would not
    survive. A process that has not ended within five seconds all the same is ended with the words last chosen by `say`.

    Signals that are ignored, as by `nohup`, are left alone. Outside the main thread nothing is done.
    """

    _current: ClassVar["StopRequest | None"] = None

    def __init__(self, end: Callable[[bool], str | None]) -> None:
        self.signal: int | None = None
        self._end = end
        self._before: dict[int, Any] = {}
        self._outer: StopRequest | None = None
        self._deadline: Any = None
        self._over, self._lock = threading.Event(), threading.Lock()
        self._late = self._saving = self._insisting = False
        self._words: str | None = None  # the last ones, once they are known

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._outer, StopRequest._current = StopRequest._current, self
            watched = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            for number in watched:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before:
            with self._lock:  # what was sent before has arrived
                self._over.set()
            self._restore()
            StopRequest._current = self._outer
            if self._deadline is not None:
                self._deadline.__exit__(kind, error, trace)

    def guard(self, words: str) -> None:
        """From now on also end code that holds the interpreter's lock; with these words, until others are said."""
        from engram.runs.deadline import Deadline  # noqa: PLC0415 (numba takes longer to import than to be stopped)

        if self._before:
            self._deadline = Deadline(self._before)
            self._deadline.say(words)
            self._deadline.__enter__()

    def say(self, words: str) -> None:
        """Choose the words with which a process is ended that does not end by itself."""
        if self._deadline is not None:
            self._deadline.say(words)

    @contextmanager
    def saving(self) -> Iterator[None]:
        """While entered, a checkpoint is written: it is not interrupted, and gets a minute."""
        self._set_saving(True)
        try:
            yield
        finally:
            self._set_saving(False)

    def _set_saving(self, value: bool) -> None:
        self._saving = value
        if self._deadline is not None:
            self._deadline.saving = value

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Python's handler: runs in the main thread, on top of whatever that is doing."""
        if self._over.is_set():
            return
        if self.signal is not None and not self._insisting:  # a second one
            self._restore()
            os.kill(os.getpid(), number)
            return
        if self.signal is None:
            self.signal = number
            threading.Thread(target=self._insist, args=(number,), daemon=True, name="engram-stopping").start()
        self._insisting = False
        if self._saving:
            return
        self._words = self._words or self._end(self._late)
        if self._words is not None:
            self.say(self._words)
            if not is_compiling(frame):
                raise Stopped(self._words, self.signal)

    _note.raises_stopped = True  # type: ignore[attr-defined]

    def _insist(self, number: int) -> None:
        """In a thread: call the handler again and again."""
        began = time.monotonic()
        while not self._over.wait(AGAIN_SECONDS):
            with self._lock:
                if self._over.is_set():
                    return
                self._late, self._insisting = time.monotonic() - began >= PATIENCE_SECONDS, True
                if sys.platform == "win32":
                    _thread.interrupt_main(number)
                else:  # a real signal, as only that ends a call of the system
                    signal.pthread_kill(threading.main_thread().ident or 0, number)

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @classmethod
    def _forked(cls) -> None:
        """In a child that an environment forked: signals are the child's own, and have their usual effect."""
        current, cls._current = cls._current, None
        while current is not None:
            current._over.set()
            current._restore()
            if current._deadline is not None:
                current._deadline.leave_to_parent()
            current = current._outer


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=StopRequest._forked)
