"""The log of a run, `progress.jsonl`: one line per episode and evaluation, appended to, and truncated on resume."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from math import isfinite
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from xxhash import xxh3_128

from engram.checks import MOST_STEPS
from engram.errors import StorageError, UnusableRunError
from engram.files.disk import (
    is_file,
    keep_aside,
    open_in_place,
    open_to_read,
    storage_errors,
    sync_folder,
    write_atomically,
)
from engram.training.environment import LARGEST_REWARD
from engram.training.events import NO_METRICS, EpisodeEnd, Evaluation, Event, mean_of

LARGEST = LARGEST_REWARD * MOST_STEPS  # of a return; neither NaN nor infinity is below it
BUFFERED_BYTES = 2**20  # of lines that wait for the next checkpoint
LONGEST_LINE = 2**26  # bytes: an evaluation of a million episodes


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

    def is_empty(self) -> bool:
        """Whether there is no log yet, or nothing in it."""
        return not is_file(self.path) or self.path.lstat().st_size == 0

    def holds(self, position: dict[str, Any]) -> bool:
        """Whether the first bytes of the file are those that the position was taken of."""
        if not is_file(self.path):
            return bool(position["bytes"] == 0)
        digest, left = xxh3_128(), position["bytes"]
        with storage_errors("read", self.path), open_to_read(self.path) as file:
            while chunk := file.read(min(left, BUFFERED_BYTES)):
                digest.update(chunk)
                left -= len(chunk)
        return bool(left == 0 and digest.hexdigest() == position["digest"])

    def goes_on_after(self, position: dict[str, Any]) -> bool:
        """Whether there is nothing after a position but lines of the log, of which the last may be incomplete."""
        if not is_file(self.path):
            return True
        with storage_errors("read", self.path), open_to_read(self.path) as file:
            file.seek(position["bytes"])
            try:
                for line in _lines(file, self.path):
                    if line.endswith(b"\n"):
                        _entry(line, "a line", self.path)
            except UnusableRunError:
                return False
        return True

    def rewrite(self, position: dict[str, Any]) -> Path:
        """Keep the file as it is in a folder beside it, and put one in its place that ends at a position."""
        with storage_errors("read", self.path), open_to_read(self.path) as file:
            content = file.read(position["bytes"])
        aside = keep_aside(self.path)
        write_atomically(self.path, content)
        return aside

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
        for entry in parse(BytesIO(content), self.path):
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
            entry |= {"metrics": event.metrics} if event.metrics else {}
        elif isinstance(event, Evaluation):
            entry = {
                "event": "evaluation",
                "step": event.step,
                "returns": event.returns,
                "lengths": event.lengths,
            }
            entry |= {"metrics": event.metrics} if event.metrics else {}
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
            self._file.seek(self._bytes - len(self._waiting))
            self._file.truncate(self._bytes - len(self._waiting))  # what an attempt that failed has left
            self._file.write(bytes(self._waiting))
            self._file.flush()
        self._waiting.clear()


def end_of(log: bytes) -> dict[str, Any]:
    """The position at the end of a log with this content."""
    return {"bytes": len(log), "digest": xxh3_128(log).hexdigest()}


def read_log(path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a log, in order; raise `UnusableRunError` at the first line that is none."""
    with storage_errors("read", path), open_to_read(path) as file:
        yield from parse(file, path)


def events_of(entries: Iterable[Mapping[str, Any]]) -> Iterator[Event]:
    """The events that the entries of a log were made from."""
    episode = 0
    for entry in entries:
        metrics = entry.get("metrics", NO_METRICS)
        if entry["event"] == "episode":
            yield EpisodeEnd(entry["step"], episode, entry["return"], entry["length"], metrics)
            episode += 1
        else:
            yield Evaluation(entry["step"], tuple(entry["returns"]), tuple(entry["lengths"]), metrics)


def parse(file: IO[bytes], path: Path) -> Iterator[dict[str, Any]]:
    """The entries of a log that is open."""
    for number, line in enumerate(_lines(file, path), start=1):
        yield _entry(line, f"line {number}", path)


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of a file, none of which is so long that it cannot be one of a log."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise UnusableRunError(f"{path} has a line of more than {LONGEST_LINE:,} bytes, so it is not a log")
        yield line


def _entry(line: bytes, where: str, path: Path) -> dict[str, Any]:
    try:
        entry: dict[str, Any] = json.loads(line)
        if _is_entry(entry):
            return entry
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    raise UnusableRunError(f"{where} of {path} is not an episode or an evaluation: {line[:80]!r}")


def _is_entry(entry: Any) -> bool:
    """Whether a line has everything that an episode or an evaluation has."""
    metrics = entry.get("metrics", {})
    if not all(name and type(name) is str for name in metrics) or not _are_finite(*metrics.values()):
        return False
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


def _are_finite(*values: Any) -> bool:
    return all(type(value) in (int, float) and isfinite(value) for value in values)


def _are_numbers(*values: Any) -> bool:
    return all(type(value) in (int, float) and abs(value) <= LARGEST for value in values)
