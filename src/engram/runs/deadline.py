"""The end of a process that does not end by itself, also while compiled code holds the interpreter's lock.

Python's own signal handlers, and its threads, wait for that lock. So a thread in machine code, which needs none, reads
the numbers of the signals that arrive, and if the process has not ended when its time is up, it writes the last words
and ends it. It calls nothing but the system's `poll`, `read`, `write` and `_exit`, and is not there on Windows.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from types import TracebackType
from typing import Any, Self

import numpy as np
from numba import types

from engram.compiling import compiled
from engram.typing import Array

SECONDS = 4.4  # from the signal to the end, at most
SAVING_SECONDS = 60.0  # more, for a checkpoint that is being written
LONGEST = 4096  # bytes of the last words
POLL_IN, POLL_OUT = 1, 4
TICK_MILLISECONDS = 50
JOIN_SECONDS = 1.0  # for the thread to see that it is not needed any more, which takes no time

_poll: Any = types.ExternalFunction("poll", types.int32(types.uintp, types.uintp, types.int32))
_read: Any = types.ExternalFunction("read", types.intp(types.int32, types.uintp, types.uintp))
_write: Any = types.ExternalFunction("write", types.intp(types.int32, types.uintp, types.uintp))
_exit: Any = types.ExternalFunction("_exit", types.void(types.int32))


@compiled
def keep_time(pipe: int, watched: Array, words: Array, state: Array, ticks: int, more_ticks: int) -> int:
    """Wait for a watched signal, then for the end of the pipe; end the process if that does not come in time.

    `state` holds the length of the words and whether a checkpoint is being written.
    """
    number, left = 0, ticks
    byte, request = np.zeros(1, np.uint8), np.zeros(2, np.int32)  # a `pollfd`: a descriptor, what is asked and answered
    while left > 0 or (state[1] != 0 and left > -more_ticks):
        request[0], request[1] = pipe, POLL_IN
        heard = _poll(request.ctypes.data, 1, TICK_MILLISECONDS if number else -1) > 0
        left -= number != 0
        if heard:
            if _read(pipe, byte.ctypes.data, 1) <= 0:
                return number
            for signal_number in watched:
                if number == 0 and signal_number == byte[0]:
                    number = int(byte[0])
    request[0], request[1] = 2, POLL_OUT
    if _poll(request.ctypes.data, 1, 0) > 0:  # a terminal that was stopped would block
        _write(2, words.ctypes.data, state[0])
    _exit(128 + number)
    return number


@cache
def compile_keep_time() -> None:
    """Compile it in this thread: numba's compiler is not made for several."""
    read, write = os.pipe()
    os.close(write)
    keep_time(read, np.zeros(1, np.uint8), np.zeros(LONGEST, np.uint8), np.zeros(2, np.int64), 1, 1)
    os.close(read)


class Deadline:
    """While entered, ends the process a few seconds after a signal, unless it has ended by then."""

    def __init__(self, signals: Iterable[int]) -> None:
        self._signals = np.array([int(number) for number in signals], np.uint8)
        self._words, self._state = np.zeros(LONGEST, np.uint8), np.zeros(2, np.int64)
        self._pipe: int | None = None
        self._before = -1
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if sys.platform == "win32":
            return self
        compile_keep_time()
        read, write = os.pipe()
        os.set_blocking(write, False)
        self._before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        self._pipe = write
        ticks, more = (round(1000 * seconds / TICK_MILLISECONDS) for seconds in (SECONDS, SAVING_SECONDS))
        arguments: tuple[Any, ...] = (read, self._signals, self._words, self._state, ticks, more)
        self._thread = threading.Thread(target=self._watch, args=arguments, daemon=True, name="engram-deadline")
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pipe is not None and self._thread is not None:
            _wake_up(self._before)
            self._close()
            self._thread.join(JOIN_SECONDS)

    def leave_to_parent(self) -> None:
        """Let go of the pipe, in a process that was forked, or its end would not be seen before that one's."""
        if self._pipe is not None:
            _wake_up(-1)
            self._close()

    def _close(self) -> None:
        pipe, self._pipe = self._pipe, None
        if pipe is not None:
            with suppress(OSError):  # an environment may have closed it
                os.close(pipe)

    def say(self, words: str) -> None:
        """Choose the last words."""
        show_cursor = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""
        content = f"{show_cursor}{words}\n".encode(errors="replace")[:LONGEST]
        self._state[0] = 0
        self._words[: len(content)] = np.frombuffer(content, np.uint8)
        self._state[0] = len(content)

    @property
    def saving(self) -> bool:
        """Whether a checkpoint is being written, which gets more time."""
        return bool(self._state[1])

    @saving.setter
    def saving(self, value: bool) -> None:
        self._state[1] = value

    @staticmethod
    def _watch(read: int, *arguments: Any) -> None:
        keep_time(read, *arguments)
        with suppress(OSError):
            os.close(read)


def _wake_up(pipe: int) -> None:
    """Have the numbers of signals written to a pipe, or to none if it is not there any more."""
    try:
        signal.set_wakeup_fd(pipe, warn_on_full_buffer=False)
    except (OSError, ValueError):
        signal.set_wakeup_fd(-1)
