"""Reading and writing files: only regular ones, and so that a power cut leaves the old or the new content.

What lies in a folder may come from anybody. Everything that a run or a study keeps is opened here, where a link, a
pipe, a device or a folder in the place of a file is refused before it is opened.
"""

import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from engram.errors import StorageError
from engram.machine import available_memory

MOST_JSON_BYTES = 64 * 2**20  # far more than any JSON file of ours has
SAFE_FLAGS = sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
ASIDE = "aside-"  # beginning of the names of folders into which files are moved that cannot be used
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@contextmanager
def storage_errors(what: str, path: Path) -> Iterator[None]:
    """Raise a `StorageError` that says what could not be done to which path, in place of an `OSError`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"cannot {what} {path}: {error.strerror or error}; what was saved before is untouched"
        ) from error


def whole_path(path: Path) -> Path:
    """The path from the root on, which stays what it is wherever the process goes."""
    try:
        return path.absolute()
    except OSError as error:
        raise StorageError(
            f"cannot find {path}: the current folder was deleted, so nothing lies relative to it; change to another "
            "folder (cd), or give whole paths"
        ) from error


def is_file(path: Path) -> bool:
    """Whether there is a file; raise `StorageError` if there is anything else in its place."""
    return _is_there(path, stat.S_IFREG, "a file")


def is_folder(path: Path) -> bool:
    """Whether there is a folder; raise `StorageError` if there is anything else in its place, be it a link to one."""
    return _is_there(path, stat.S_IFDIR, "a folder")


def _is_there(path: Path, kind: int, expected: str) -> bool:
    with storage_errors("read", path):
        try:
            found = stat.S_IFMT(path.lstat().st_mode)
        except FileNotFoundError:
            return False
    if found != kind:
        raise StorageError(_misplaced(path, found, expected))
    return True


def _misplaced(path: Path, kind: int, expected: str) -> str:
    return (
        f"cannot use {path}: it is {KINDS.get(kind, 'a file')} where {expected} should be, and was not opened; "
        f"put {expected} in its place, or move it elsewhere; what was saved before is untouched"
    )


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file, which child processes do not inherit; anything else is refused unopened."""
    with storage_errors("open", path):
        is_file(path)
        handle = os.open(path, flags | SAFE_FLAGS, 0o666)
        kind = stat.S_IFMT(os.fstat(handle).st_mode)
        if kind != stat.S_IFREG:  # it was put there a moment ago
            os.close(handle)
            raise StorageError(_misplaced(path, kind, "a file"))
        return handle


def check_readable(path: Path) -> None:
    """Raise `StorageError` unless there is a regular file that can be opened; for libraries that open it themselves."""
    os.close(open_file(path))


def open_in_place(path: Path) -> IO[bytes]:
    """A file to be read and changed where it lies, which is made if there is none; it must have no other name."""
    handle = open_file(path, os.O_RDWR | os.O_CREAT)
    if os.fstat(handle).st_nlink > 1:
        os.close(handle)
        raise StorageError(
            f"cannot write {path}: the same file has other names (hard links), and would change there too; put a copy "
            "in its place; what was saved before is untouched"
        )
    return os.fdopen(handle, "r+b")


def open_to_read(path: Path) -> IO[bytes]:
    """A regular file, to be read."""
    return os.fdopen(open_file(path), "rb")


def read_file(path: Path, most: int | None = None) -> bytes:
    """The content of a regular file, of at most so many bytes, or as many as there is memory for."""
    with storage_errors("read", path), open_to_read(path) as file:
        size, room = os.fstat(file.fileno()).st_size, most or available_memory()
        if room is not None and size > room:
            raise StorageError(
                f"cannot read {path}: it has {size:,} bytes, and at most {room:,} can be read; "
                "what was saved before is untouched"
            )
        return file.read()


def read_json(path: Path) -> Any:
    """What a JSON file holds; raise ValueError if it is not JSON."""
    try:
        return json.loads(read_file(path, MOST_JSON_BYTES))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def write_atomically(path: Path, *parts: bytes | Iterable[memoryview]) -> None:
    """Replace a file's content such that a reader, or a power cut, sees all of the old or all of the new.

    A part may come in pieces that are made as they are written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    with storage_errors("write", path):
        make_folder(path.parent)
        is_file(path)
        temporary.unlink(missing_ok=True)
        try:
            with os.fdopen(open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
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


def inside(folder: Path, name: str) -> Path:
    """A folder of this name inside a folder of ours, whether or not it is there yet; a link in its place is refused."""
    path = folder / name
    is_folder(path)
    return path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside a file, for a library that writes files itself; what it wrote takes the file's place at the end.

    If it fails, or writes nothing, the file is as it was.
    """
    temporary = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    with storage_errors("write", path):
        make_folder(path.parent)
        is_file(path)
        temporary.unlink(missing_ok=True)
        try:
            yield temporary
            if is_file(temporary):
                with open_in_place(temporary) as file:
                    os.fsync(file.fileno())
                temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
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


def move_aside(folder: Path, paths: Sequence[Path]) -> Path:
    """Move what lies in a folder into a new one inside it, `aside-1` or the next that is free; return that one."""
    with storage_errors("move aside what is in", folder):
        aside = _new_folder(folder)
        for path in paths:
            path.replace(aside / path.name)
        sync_folder(aside)
        sync_folder(folder)
    return aside


def keep_aside(path: Path) -> Path:
    """Keep what a file holds now in a new folder beside it, while the file itself is replaced; return that folder."""
    with storage_errors("keep a copy of", path):
        aside = _new_folder(path.parent)
        is_file(path)
        try:
            os.link(path, aside / path.name)  # the same file: nothing is copied
        except OSError:
            shutil.copyfile(path, aside / path.name, follow_symlinks=False)
        sync_folder(aside)
        sync_folder(path.parent)
    return aside


def _new_folder(folder: Path) -> Path:
    number = 1
    while True:
        try:
            aside = folder / f"{ASIDE}{number}"
            aside.mkdir()
            return aside
        except FileExistsError:
            number += 1
