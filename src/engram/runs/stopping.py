"""Stopping when asked: a signal ends whatever goes on within five seconds, with everything saved that can be."""

import _thread
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import CodeType, FrameType, TracebackType
from typing import Any, ClassVar, Self, TypeVar

from engram.errors import Stopped

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
TICK: Any = getattr(signal, "SIGURG", None) or getattr(signal, "SIGBREAK", None)  # nobody asks for the end with it
PATIENCE_SECONDS = 3.0  # for a whole step, before a step is given up
COMPILERS = ("numba.", "llvmlite.")  # which do not survive an error in their midst
AGAIN_SECONDS = 0.25  # between two attempts to end
UNWINDING_SECONDS = 1.0  # for what is being left, before `Stopped` is raised again: something may have swallowed it

LEAVING = b"stopped\n"

_uninterrupted: set[CodeType] = set()
_Function = TypeVar("_Function", bound=Callable[..., Any])


def uninterrupted(function: _Function) -> _Function:
    """A function in which, and in whatever it calls, nothing is raised: it makes ready for signals, or cleans up."""
    _uninterrupted.add(function.__code__)
    return function


def may_be_left(frame: FrameType | None) -> bool:
    """Whether an error may be raised in a frame: not in numba's compiler, nor where it would leave a mess."""
    while frame is not None:
        if frame.f_code in _uninterrupted or frame.f_globals.get("__name__", "").startswith(COMPILERS):
            return False
        frame = frame.f_back
    return True


def heed_signals() -> None:
    """Where this process is the command line, have signals end it with a word until a `StopRequest` is entered.

    Importing the libraries takes a part of a second, in which Ctrl-C would show a traceback, and SIGTERM nothing.
    """
    words = sys.orig_argv
    module = words[words.index("-m") + 1 :][:1] if "-m" in words else []
    script = os.path.basename(sys.argv[0]) if sys.argv else ""  # noqa: PTH119 (pathlib is not imported yet)
    if "--multiprocessing-fork" in words:  # a worker, which is told to end by its parent
        return
    if module == ["engram"] or script.partition(".")[0] == "engram":
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
                signal.signal(number, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, LEAVING)
    os._exit(128 + number)


class StopRequest:
    """While entered, the first signal to stop is noted, and a second one has its usual effect.

    `end` is asked at once, and then four times a second, in whatever the main thread is doing: it saves what can be
    saved and returns the last words, with which `Stopped` is raised, or None where this is no place to end. Its
    argument says whether patience is over. Nothing is raised while a kernel is compiled, which the compiler would not
    survive, and there `end` is asked only when patience is over. A process that has not ended within five seconds all
    the same is ended with the words last chosen by `say`.

    The thread that asks again does so with a signal of its own kind, and is there before any signal is: a handler that
    started one could wait for a lock that the code below it holds. One request may be entered within another; then
    signals are the inner one's, also one that came before.

    Signals that are ignored, as by `nohup`, are left alone. Outside the main thread nothing is done.
    """

    _current: ClassVar["StopRequest | None"] = None

    def __init__(self, end: Callable[[bool], str | None]) -> None:
        self.signal: int | None = None
        self._end = end
        self._before: dict[int, Any] = {}
        self._outer: StopRequest | None = None
        self._deadline: Any = None
        self._begun: SimpleQueue[bool] = SimpleQueue()  # which, unlike other queues, a handler may put something into
        self._ended = threading.Event()
        self._over = self._saving = False
        self._missed: int | None = None  # a signal that came while the request was left
        self._asked_at, self._raised_at = 0.0, -UNWINDING_SECONDS
        self._words: str | None = None  # the last ones, once they are known

    @uninterrupted
    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._outer, StopRequest._current = StopRequest._current, self
            if self._outer is not None:
                self.signal, self._asked_at = self._outer.signal, self._outer._asked_at
            threading.Thread(target=self._insist, daemon=True, name="engram-stopping").start()
            for number in SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._note)
        return self

    @uninterrupted
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._over or StopRequest._current is not self:
            return
        self._over = True  # from here on nothing is raised, whatever arrives
        self._let_go()
        StopRequest._current = self._outer
        if self._deadline is not None:
            self._deadline.__exit__(kind, error, trace)
        if self._missed is not None:
            os.kill(os.getpid(), self._missed)

    @uninterrupted
    def guard(self, words: str) -> None:
        """From now on also end code that holds the interpreter's lock; with these words, until others are said."""
        from engram.runs.deadline import Deadline  # noqa: PLC0415 (numba takes longer to import than to be stopped)

        if self._before:
            self._deadline = Deadline(number for number in SIGNALS if number in self._before)
            self._deadline.say(words)
            self._deadline.__enter__()

    def say(self, words: str) -> None:
        """Choose the words with which a process is ended that does not end by itself."""
        for deadline in self._deadlines():
            deadline.say(words)

    def _deadlines(self) -> Iterator[Any]:
        """The deadlines of this request and of those around it, any of which may have heard the signal."""
        request: StopRequest | None = self
        while request is not None:
            if request._deadline is not None:
                yield request._deadline
            request = request._outer

    @contextmanager
    def saving(self) -> Iterator[None]:
        """While entered, a checkpoint is written: it is not interrupted, and gets a minute."""
        self._saving = True
        try:
            self._extend(True)
            yield
        finally:
            self._extend(False)  # before anything can be raised here
            self._saving = False

    def _extend(self, value: bool) -> None:
        for deadline in self._deadlines():
            deadline.saving = value

    def _note(self, number: int, frame: FrameType | None) -> None:
        """Python's handler of a signal to stop: runs in the main thread, on top of whatever that is doing."""
        if self._over:
            self._missed = number
        elif self.signal is not None:  # a second one
            self._let_go()
            os.kill(os.getpid(), number)
        else:
            self.signal, self._asked_at = number, time.monotonic()
            self._before[TICK] = signal.signal(TICK, self._tick)
            self._begun.put(True)
            self._heed(frame)

    _note.raises_stopped = True  # type: ignore[attr-defined]

    def _tick(self, number: int, frame: FrameType | None) -> None:
        """Python's handler of the signals with which the thread asks again."""
        (StopRequest._current or self)._heed(frame)

    def _heed(self, frame: FrameType | None) -> None:
        """End, if this is a place for it; `Stopped` is raised then."""
        now = time.monotonic()
        late, leavable = now - self._asked_at >= PATIENCE_SECONDS, may_be_left(frame)
        if self.signal is None or self._over or self._saving or not (leavable or late):
            return
        self._words = self._words or self._end(late)
        if self._words is not None:
            self.say(self._words)
            if leavable and now - self._raised_at >= UNWINDING_SECONDS:
                self._raised_at = time.monotonic()
                raise Stopped(self._words, self.signal)

    def _insist(self) -> None:
        """In a thread: once there was a signal, call the handler again and again."""
        if self._begun.get():
            while not self._ended.wait(AGAIN_SECONDS):
                if sys.platform == "win32":
                    _thread.interrupt_main(TICK)
                else:  # a real signal, as only that ends a call of the system
                    signal.pthread_kill(threading.main_thread().ident or 0, TICK)

    def _let_go(self) -> None:
        """Give the signals back to whoever had them, and end the thread."""
        self._ended.set()
        self._begun.put(False)
        self._restore()

    def _restore(self) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    @classmethod
    def _forked(cls) -> None:
        """In a child that an environment forked: signals are the child's own, and have their usual effect."""
        current, cls._current = cls._current, None
        while current is not None:
            current._over = True
            current._restore()
            if current._deadline is not None:
                current._deadline.leave_to_parent()
            current = current._outer


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=StopRequest._forked)
