"""A lock on a folder, so that only one process at a time writes to it."""

import json
import os
import platform
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from engram.errors import RunFolderError
from engram.files.disk import make_folder, storage_errors

LOCK = "lock"  # the file that is locked
HOLDER = "lock.json"  # which process holds it; a file of its own, as on Windows a locked one cannot be read
LOCK_FILES = (LOCK, HOLDER)


class FolderLock:
    """An exclusive lock on a folder, which the operating system releases when the process ends, however it ends.

    Both files may stay behind after a crash. They do not block anyone: only a living process holds the lock.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holder = folder / HOLDER
        # No fallback to a lock that is the mere existence of a file: that would outlive a killed process.
        self._lock = FileLock(
            folder / LOCK, blocking=False, thread_local=False, fallback_to_soft=False, preserve_lock_file=True
        )

    def __enter__(self) -> Self:
        with storage_errors("lock", self._folder):
            make_folder(self._folder)
            try:
                self._lock.acquire()
            except Timeout:
                raise RunFolderError(
                    f"{self._folder} is in use by {self._read_holder()}; wait for it or stop it"
                ) from None
            try:
                self._holder.write_bytes(json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
            except BaseException:
                self._release()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def _release(self) -> None:
        with suppress(OSError):
            self._holder.unlink(missing_ok=True)
        self._lock.release()

    def _read_holder(self) -> str:
        try:
            holder = json.loads(self._holder.read_bytes())
            return f"process {holder['pid']} on {holder['host']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"
