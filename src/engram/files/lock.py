"""A lock on a folder, so that only one process at a time writes to it."""

import errno
import json
import os
import platform
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import lock_descriptor

from engram.errors import EngramError, FolderInUseError, StorageError
from engram.files.disk import make_folder, open_file, read_json, storage_errors, write_atomically

LOCK = "lock"  # the file that is locked
HOLDER = "lock.json"  # which process holds it; a file of its own, as on Windows a locked one cannot be read
LOCK_FILES = (LOCK, HOLDER)
POLL_SECONDS = 0.05
WITHOUT_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOLCK)  # what a file system without locks says

_held: set[int] = set()  # the descriptors of all locks of this process


class FolderLock:
    """An exclusive lock on a folder, which the operating system releases when the process ends, however it ends.

    Both files may stay behind after a crash. They do not block anyone: only a living process holds the lock. The folder
    itself is locked too, where the system can: deleting the file lets nobody in.

    Args:
        folder: The folder, which is made if there is none.
        wait_seconds: How long to wait for another process that holds the lock.
    """

    def __init__(self, folder: Path, *, wait_seconds: float = 0.0) -> None:
        self._folder, self._wait_seconds = folder, wait_seconds
        self._path, self._holder = folder / LOCK, folder / HOLDER
        self._handles: list[int] = []  # of the file, and of the folder where that can be locked
        self._process = 0  # that holds the lock; a forked child does not

    def __enter__(self) -> Self:
        deadline = time.monotonic() + self._wait_seconds
        with storage_errors("lock", self._folder):
            make_folder(self._folder)
            while not self._acquire():
                if time.monotonic() >= deadline:
                    raise FolderInUseError(f"{self._folder} is in use{self._describe_holder()}")
                time.sleep(POLL_SECONDS)
            try:
                write_atomically(self._holder, json.dumps({"pid": os.getpid(), "host": platform.node()}).encode())
            except BaseException:
                self._let_go()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def check(self) -> None:
        """Raise StorageError unless the folder still has the file that was locked: else another process may be in."""
        with storage_errors("find", self._path):
            if not self._is_in_place():
                raise StorageError(
                    f"cannot go on in {self._folder}: {self._path.name} was replaced while the run was writing, so "
                    "another process may use the folder; what was saved before is untouched"
                )

    def _acquire(self) -> bool:
        """Try once to lock the file and the folder; return whether this process has them now."""
        try:
            while True:
                self._hold(open_file(self._path, os.O_RDWR | os.O_CREAT))
                if self._lock_file() and (not hasattr(os, "O_DIRECTORY") or self._lock_folder()):
                    if self._is_in_place():
                        self._process = os.getpid()
                        return True
                    self._let_go()  # of a file that was replaced before it was locked
                else:
                    self._let_go()
                    return False
        except BaseException:
            self._let_go()
            raise

    def _lock_file(self) -> bool:
        try:
            return lock_descriptor(self._handles[0], blocking=False)
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
            raise StorageError(
                f"cannot lock {self._folder}: {error.strerror}; its file system has no locks, and without one two "
                "processes could write to the folder at once; choose a folder on a disk of this machine with --out, or "
                "mount the file system with locks"
            ) from error

    def _lock_folder(self) -> bool:
        """Lock the folder itself; True also where the file system cannot."""
        handle = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            locked = lock_descriptor(handle, blocking=False)
        except OSError:
            os.close(handle)
            return True
        self._hold(handle)
        return locked

    def _is_in_place(self) -> bool:
        return os.path.samestat(os.fstat(self._handles[0]), self._path.lstat())

    def _hold(self, handle: int) -> None:
        self._handles.append(handle)
        _held.add(handle)

    def _let_go(self) -> None:
        for handle in self._handles:
            _held.discard(handle)
            with suppress(OSError):
                os.close(handle)
        self._handles, self._process = [], 0

    def _release(self) -> None:
        if self._process != os.getpid():
            return
        with suppress(OSError):
            if self._is_in_place():
                self._holder.unlink(missing_ok=True)
        self._let_go()

    def _describe_holder(self) -> str:
        """By whom the folder is in use, and what to do about it."""
        try:
            holder: Any = read_json(self._holder)
            pid, host = int(holder["pid"]), str(holder["host"])
        except (EngramError, ValueError, KeyError, TypeError, OverflowError):
            return " by another process; wait for it or stop it"
        if host == platform.node() and _is_gone(pid):
            return (
                f", although its process {pid} is gone: one that {pid} started still holds the lock; find it, for "
                f"instance with `fuser {self._path}`, and stop it"
            )
        return f" by process {pid} on {host}; wait for it or stop it"


def is_in_use(folder: Path) -> bool:
    """Whether another process holds the lock on a folder."""
    try:
        with FolderLock(folder):
            return False
    except FolderInUseError:
        return True


def _is_gone(pid: int) -> bool:
    """Whether a process of this machine has ended, as far as the system tells."""
    if os.name != "posix" or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _close_in_child() -> None:
    """Close the locks that a forked process inherits: they are its parent's, and would outlive it."""
    for handle in _held:
        with suppress(OSError):
            os.close(handle)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)
