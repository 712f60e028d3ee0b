"""How Engram's kernels are compiled: ahead of their first use, once per machine, without fast-math.

Without fast-math every kernel is plain IEEE arithmetic in the order in which it is written, so its bits
depend neither on the batch it is part of nor on the width of the machine's vectors.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])
settings: Any = numba.config


def compiled(function: F) -> F:
    """Compile a pure function of numbers and arrays to machine code, kept on disk between processes."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def clear_stale(package: Path) -> bool:
    """Delete all kernels kept on disk if any source has changed since; say whether one has.

    numba looks at the file of a kernel only. A kernel that calls one from another file would go on with that one as
    it was, and give other results than the source says.
    """
    stamp = stamp_of(package)
    file = package / "__pycache__" / "kernels.stamp"
    try:
        if file.exists() and file.read_text() == stamp:
            return False
        for kernel in package.rglob("*.nb[ic]"):
            kernel.unlink(missing_ok=True)
        file.parent.mkdir(exist_ok=True)
        file.write_text(stamp)
    except OSError:  # a package that cannot be written to: numba keeps its kernels elsewhere
        keep_apart(Path.home() / ".cache" / "engram", stamp)
        return False
    return True


def stamp_of(package: Path) -> str:
    """What tells one state of the sources from another."""
    sources = sorted((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in package.rglob("*.py"))
    return sha256(repr(sources).encode()).hexdigest()


def keep_apart(folder: Path, stamp: str) -> None:
    """Keep kernels in a folder of their own for each state of the sources, so that none is taken for another."""
    settings.CACHE_DIR = str(folder / stamp[:16])


if settings.CACHE_DIR:  # the user's choice
    keep_apart(Path(settings.CACHE_DIR), stamp_of(Path(__file__).parent))
else:
    clear_stale(Path(__file__).parent)
