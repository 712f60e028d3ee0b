"""NumPy archives, .npz: written whole or not at all, and read without running anything that they name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engram.errors import InvalidInputError, StorageError
from engram.files.disk import check_readable, replacing
from engram.typing import Array

SUFFIX = ".npz"


def check_archive_name(path: Path) -> None:
    """Raise InvalidInputError unless a file is called as NumPy's archives are."""
    if path.suffix != SUFFIX:
        raise InvalidInputError(f"a NumPy archive must be called {SUFFIX}, got {path.name!r}")


def write_archive(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays by name; the same arrays give the same bytes."""
    check_archive_name(path)
    with replacing(path) as beside:
        whole: Any = dict(arrays)
        np.savez_compressed(beside, **whole)


def read_archive(path: Path) -> dict[str, Array]:
    """The arrays of an archive, by name."""
    check_readable(path)
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except MemoryError as error:
        raise StorageError(f"cannot read {path}: an array in it is larger than the memory that is free") from error
    except Exception as error:  # NumPy and zipfile have many ways to say that a file is damaged
        raise StorageError(f"cannot read {path}: it is no NumPy archive ({error})") from error
