"""Writing files so that a crash or a power cut leaves the old or the new content, never a part of one."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from engram.errors import StorageError


@contextmanager
def storage_errors(what: str, path: Path) -> Iterator[None]:
    """Raise a `StorageError` that says what could not be done to which path, in place of an `OSError`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot {what} {path}: {error.strerror or error}; what was saved before is untouched"
        ) from error


def write_atomically(path: Path, *parts: bytes | Iterable[memoryview]) -> None:
    """Replace a file's content such that a reader, or a power cut, sees all of the old or all of the new.

    A part may come in pieces that are made as they are written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors("write", path):
        make_folder(path.parent)
        try:
            with temporary.open("wb") as file:
                for part in parts:
                    for piece in (part,) if isinstance(part, bytes) else part:
                        file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents, and flush them to the disk."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Flush a folder's list of files to the disk, where the system can open folders; Windows cannot."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def list_files(folder: Path, pattern: str) -> list[Path]:
    """Paths in a folder whose names match the pattern, sorted; a `StorageError` if the folder cannot be read."""
    with storage_errors("read", folder):
        return sorted(path for path in folder.iterdir() if fnmatchcase(path.name, pattern))


def remove(path: Path) -> None:
    """Delete a file, if it exists."""
    with storage_errors("delete", path):
        path.unlink(missing_ok=True)
