"""Where a user says that a file is to be written: what lies there already is not lost."""

from collections.abc import Callable
from pathlib import Path

from engram.errors import StorageError
from engram.files.disk import is_file


def check_replaceable(
    path: Path, is_the_same: Callable[[], bool], otherwise: str, instead: str = "choose another name"
) -> None:
    """Raise StorageError if there is a file already, unless it is the same thing, which the same command has made.

    `otherwise` says what it is then, in words, and `instead` what to do.
    """
    if is_file(path) and not is_the_same():
        raise StorageError(f"{path} is there already, and {otherwise}; {instead}, or move it elsewhere")


def check_is_new(path: Path) -> None:
    """Raise StorageError if there is a file already, which may be all that is left of what it holds."""
    check_replaceable(path, lambda: False, "is not overwritten")
