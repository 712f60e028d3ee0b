"""One process per run folder."""

import fcntl
import json
import os
import platform
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from engram.errors import RunFolderError
from engram.files.disk import make_folder, storage_errors


class FolderLock:
    """Holds a folder for this process. The system lets go of it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handle: int | None = None

    def __enter__(self) -> Self:
        path = self._folder / "lock"
        with storage_errors("lock", self._folder):
            make_folder(self._folder)
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                self._take(handle)
            except BaseException:
                os.close(handle)
                raise
        self._handle = handle
        return self

    def _take(self, handle: int) -> None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(handle, 1000).decode(errors="replace")
            raise RunFolderError(f"{self._folder} is in use by {_named(holder)}; wait for it or stop it") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode(), 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            with suppress(OSError):  # a name left behind misleads nobody: only a living process holds the lock
                os.ftruncate(self._handle, 0)
            os.close(self._handle)
            self._handle = None


def _named(holder: str) -> str:
    try:
        who = json.loads(holder)
        return f"process {who['pid']} on {who['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
