"""The log of a run, `progress.jsonl`: one line per episode and evaluation, appended to, and truncated on resume."""

import json
import os
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from xxhash import xxh3_128

from engram.errors import StorageError
from engram.files.disk import storage_errors
from engram.training.events import EpisodeEnd, Evaluation, Event, mean_of


class ProgressLog:
    """`progress.jsonl`, from a position at which its content is known."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digest = xxh3_128()
        self._bytes = 0
        self._file: IO[bytes] | None = None
        self.scores: list[float] = []  # means of the evaluations so far
        self.evaluated = 0  # steps taken at the latest of them

    def holds(self, position: dict[str, Any]) -> bool:
        """Whether the first bytes of the file are those that the position was taken of."""
        with storage_errors("read", self._path):
            content = self._path.read_bytes()[: position["bytes"]] if self._path.exists() else b""
        return bool(len(content) == position["bytes"] and xxh3_128(content).hexdigest() == position["digest"])

    def open(self, position: dict[str, Any] | None) -> None:
        """Truncate the file to a position, or to nothing, and append from there."""
        with storage_errors("write", self._path):
            self._file = self._path.open("r+b" if self._path.exists() else "w+b")
            content = self._file.read(position["bytes"]) if position is not None else b""
            self._file.truncate(len(content))
            self._file.seek(len(content))
        self._digest.update(content)
        self._bytes = len(content)
        for line in content.splitlines():
            entry = json.loads(line)
            if entry["event"] == "evaluation":
                self.scores.append(mean_of(entry["returns"]))
                self.evaluated = entry["step"]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            with storage_errors("write", self._path):
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
        assert self._file is not None
        with storage_errors("write", self._path):
            self._file.write(line)
        self._digest.update(line)
        self._bytes += len(line)

    def position(self) -> dict[str, Any]:
        """The length and digest of the file, after everything written so far is on the disk."""
        assert self._file is not None
        with storage_errors("write", self._path):
            self._file.flush()
            os.fsync(self._file.fileno())
            if not os.path.samestat(os.fstat(self._file.fileno()), self._path.stat()):
                raise StorageError(f"{self._path} was replaced while the run was writing to it; the run stops here")
        return {"bytes": self._bytes, "digest": self._digest.hexdigest()}
