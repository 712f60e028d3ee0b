"""Files that survive: whole or not at all, and on the disk before anything relies on them."""

import os
from collections.abc import Iterator
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


def write_atomically(path: Path, *parts: bytes) -> None:
    """Replace a file by new content such that a reader, or a power cut, sees the old or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors("write", path):
        make_folder(path.parent)
        try:
            with temporary.open("wb") as file:
                for part in parts:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
        sync_folder(path.parent)


def make_folder(path: Path) -> None:
    """Make sure that a folder is there, and on the disk, with all that it stands in."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make sure that the folder's list of files is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def list_files(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder whose names match, in order; a folder that cannot be read is not taken for an empty one."""
    with storage_errors("read", folder):
        return sorted(path for path in folder.iterdir() if fnmatchcase(path.name, pattern))


def remove(path: Path) -> None:
    """Delete a file that is no longer needed."""
    with storage_errors("delete", path):
        path.unlink(missing_ok=True)
