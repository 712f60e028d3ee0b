"""The standard streams of a command, which never stop its work."""

import os
import sys
from typing import Any, TextIO


class Output:
    """A standard stream that goes on as if nothing had happened when it can no longer be written to."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None  # the first that was met

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text, or drop it."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        """Flush what was written."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Lead the stream to nowhere, so that what it still holds can be flushed."""
        self.error = self.error or error
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


def open_outputs() -> tuple[Output, Output]:
    """Replace the standard streams by ones that are always there and encode any text; return output and errors.

    Descriptors that were closed lead to nowhere: otherwise the next file to be opened would get their numbers.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest free number
    streams = []
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name) or open(os.devnull, "w")  # noqa: SIM115, PTH123 (for as long as the process lives)
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
        streams.append(Output(stream))
        setattr(sys, name, streams[-1])
    return streams[0], streams[1]
