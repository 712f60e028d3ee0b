"""The log of a run, `progress.jsonl`: one line per episode and evaluation, appended to, and truncated on resume."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from xxhash import xxh3_128

from engram.checks import MOST_STEPS
from engram.errors import StorageError, UnusableRunError
from engram.files.disk import is_file, open_in_place, read_file, storage_errors, sync_folder
from engram.training.events import EpisodeEnd, Evaluation, Event, mean_of

LARGEST = sys.float_info.max  # of a number; neither NaN nor infinity is below it
BUFFERED_BYTES = 2**20  # of lines that wait for the next checkpoint


class ProgressLog:
    """`progress.jsonl`, from a position at which its content is known.

    Lines are written when the position is asked for, which is when a checkpoint is written. `guard` is called before
    that, and may raise an error.
    """

    def __init__(self, path: Path, guard: Callable[[], object] = lambda: None) -> None:
        self.path, self._guard = path, guard
        self._digest = xxh3_128()
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self._waiting = bytearray()
        self.scores: list[float] = []  # means of the evaluations so far
        self.evaluated = 0  # steps taken at the latest of them

    def content(self) -> bytes:
        """What the file holds; nothing if there is none."""
        return read_file(self.path) if is_file(self.path) else b""

    def holds(self, position: dict[str, Any]) -> bool:
        """Whether the first bytes of the file are those that the position was taken of."""
        content = self.content()[: position["bytes"]]
        return bool(len(content) == position["bytes"] and xxh3_128(content).hexdigest() == position["digest"])

    def open(self, position: dict[str, Any] | None) -> None:
        """Truncate the file to a position, or to nothing, and append from there."""
        with storage_errors("write", self.path):
            self._file = open_in_place(self.path)
            content = self._file.read(position["bytes"]) if position is not None else b""
            self._file.truncate(len(content))
            self._file.seek(len(content))
            sync_folder(self.path.parent)  # or a power cut might leave a checkpoint without its log
        self._digest.update(content)
        self._bytes = len(content)
        for entry in parse(content, self.path):
            if entry["event"] == "evaluation":
                self.scores.append(mean_of(entry["returns"]))
                self.evaluated = entry["step"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with storage_errors("write", self.path):
                self._file.close()

    def __call__(self, event: Event) -> None:
        """Append a line for an episode or an evaluation; other events are left out."""
        entry: dict[str, Any]
        if isinstance(event, EpisodeEnd):
            entry = {"event": "episode", "step": event.step, "return": event.total, "length": event.length}
        elif isinstance(event, Evaluation):
            entry = {
                "event": "evaluation",
                "step": event.step,
                "returns": event.returns,
                "lengths": event.lengths,
            }
            self.scores.append(event.mean)
            self.evaluated = event.step
        else:
            return
        line = json.dumps(entry).encode() + b"\n"
        self._waiting += line
        self._digest.update(line)
        self._bytes += len(line)
        if len(self._waiting) >= BUFFERED_BYTES:
            self._write()

    def position(self) -> dict[str, Any]:
        """The length and digest of the file, after everything written so far is on the disk."""
        self._write()
        assert self._file is not None
        with storage_errors("write", self.path):
            os.fsync(self._file.fileno())
        return {"bytes": self._bytes, "digest": self._digest.hexdigest()}

    def _write(self) -> None:
        """Write the lines that wait, if the file is still the one in its place."""
        assert self._file is not None
        self._guard()
        with storage_errors("write", self.path):
            if not os.path.samestat(os.fstat(self._file.fileno()), self.path.lstat()):
                raise StorageError(
                    f"cannot go on: {self.path} was replaced while the run was writing to it; "
                    "what was saved before is untouched"
                )
            self._file.write(bytes(self._waiting))
            self._file.flush()
        self._waiting.clear()


def parse(content: bytes, path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a log, in order; raise `UnusableRunError` at the first line that is none."""
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            entry = json.loads(line)
            whole = _is_entry(entry)
        except (ValueError, KeyError, TypeError, RecursionError):
            whole = False
        if not whole:
            raise UnusableRunError(f"line {number} of {path} is not an episode or an evaluation: {line[:80]!r}")
        yield entry


def _is_entry(entry: Any) -> bool:
    """Whether a line has everything that an episode or an evaluation has."""
    if entry["event"] == "episode":
        return _are_counts(entry["step"], entry["length"]) and _are_numbers(entry["return"])
    returns, lengths = entry["returns"], entry["lengths"]
    return bool(
        entry["event"] == "evaluation"
        and isinstance(returns, list)
        and isinstance(lengths, list)
        and 0 < len(returns) == len(lengths)
        and _are_counts(entry["step"], *lengths)
        and _are_numbers(*returns)
    )


def _are_counts(*values: Any) -> bool:
    return all(type(value) is int and 0 <= value <= MOST_STEPS for value in values)


def _are_numbers(*values: Any) -> bool:
    return all(type(value) in (int, float) and abs(value) <= LARGEST for value in values)
