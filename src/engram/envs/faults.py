"""Whose doing it is when an environment raises something: its own, or that of somebody who wants to stop."""

import logging
import signal
from typing import Any

from engram.errors import Stopped


def is_wish_to_stop(error: BaseException) -> bool:
    """Whether what came out of an environment was raised by a signal.

    Where a handler is at work that `raises_stopped`, as on the command line, Ctrl-C raises that; and where the signal
    is ignored, as in the background, it raises nothing. A KeyboardInterrupt is then the environment's own, as
    SystemExit and everything else always is.
    """
    if isinstance(error, KeyboardInterrupt):
        handler = signal.getsignal(signal.SIGINT)
        return handler is not signal.SIG_IGN and not getattr(handler, "raises_stopped", False)
    return isinstance(error, Stopped)


def said_by(error: BaseException) -> str:
    """The type of an error and the first line of its message."""
    return f"{type(error).__name__}: {error}".rstrip(": ").splitlines()[0]


def close(env: Any) -> None:
    """Close an environment that has done its work; an error of it is told, and spoils nothing."""
    try:
        env.close()
    except BaseException as error:
        if is_wish_to_stop(error):
            raise
        logging.getLogger("engram").warning(
            "warning: the environment raised an error in its close(): %s; the fault is in the environment, and what "
            "came before is not affected",
            said_by(error),
        )
