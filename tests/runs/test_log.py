"""The log of a run: what is in the file is what its position says, also after a write that failed."""

import errno
from pathlib import Path
from typing import IO, Any, cast

import pytest

from engram.errors import StorageError
from engram.runs.log import ProgressLog, read_log
from engram.training.events import EpisodeEnd


class FullForOnce:
    """A file whose disk is full in the middle of one write."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._fails = file, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write(self, data: bytes) -> int:
        if self._fails:
            self._fails = False
            self._file.write(data[: len(data) // 2])
            self._file.flush()
            raise OSError(errno.ENOSPC, "No space left on device")
        return self._file.write(data)


def test_a_write_that_failed_halfway_is_made_good_by_the_next(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path / "progress.jsonl")
    with log:
        log.open(None)
        log(EpisodeEnd(10, 0, 1.0, 10))
        before = log.position()
        log._file = cast(IO[bytes], FullForOnce(cast(IO[bytes], log._file)))
        log(EpisodeEnd(20, 1, 2.0, 10))
        with pytest.raises(StorageError, match="No space left"):
            log.position()
        log(EpisodeEnd(30, 2, 3.0, 10))
        after = log.position()
    assert log.holds(before)
    assert log.holds(after)
    assert [entry["step"] for entry in read_log(log.path)] == [10, 20, 30]
