"""How Engram's kernels are compiled: at their first use, once per machine, without fast-math.

Without fast-math every kernel is plain IEEE arithmetic in the order in which it is written, so its bits depend neither
on the batch it is part of nor on the width of the machine's vectors.

Compiled kernels are kept on disk by numba's own cache, with two differences, neither of which changes numba's
configuration for anyone else. A kernel counts as stale when a source of Engram has changed that it may depend on: one
of its own folder, or of a folder that is imported from there, and so on. numba itself looks only at the file of a
kernel and not at the files of the kernels that it calls. And kernels are only ever loaded from a folder that belongs to
the current user and that nobody else can write to: they are machine code.
"""

import os
import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, NullCache, _CacheLocator

from engram.inner_code import OPTIONS, KernelDispatcher

F = TypeVar("F", bound=Callable[..., Any])
settings: Any = numba.config
PACKAGE = Path(__file__).parent
IMPORT = re.compile(r"^\s*(?:from\s+engram([.\w]*)\s+import\s+(\([^)]*\)|.*)|import\s+engram([.\w]*))", re.MULTILINE)


def compiled(function: F) -> F:
    """Compile a pure function of numbers and arrays to machine code, kept on disk between processes."""
    dispatcher: Any = KernelDispatcher(function, {}, OPTIONS)
    kept = kernel_folder(Path(function.__code__.co_filename)) is not None
    dispatcher._cache = KernelCache(function) if kept else NullCache()  # type: ignore[no-untyped-call]
    return cast(F, dispatcher)


@cache
def cache_folder() -> Path | None:
    """The folder under which kernels are kept, or None where there is no folder that is safe to use.

    It is the package itself if it is the current user's own; otherwise `$NUMBA_CACHE_DIR`, `$XDG_CACHE_HOME` or
    `.cache` in the user's home.
    """
    if not settings.CACHE_DIR and is_users_own(PACKAGE):
        return PACKAGE
    try:
        base = Path(settings.CACHE_DIR or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:  # there is no home
        return None
    return own_folder(base / "engram" / source_digest()[:16])


def kernel_folder(file: Path) -> Path | None:
    """The folder of the kernels of a source file, or None where there is none that is safe to use."""
    folder = cache_folder()
    return None if folder is None else own_folder(folder / file.parent.relative_to(PACKAGE) / "__pycache__")


@cache
def own_folder(folder: Path) -> Path | None:
    """The folder, made if it is missing; None if that is not possible or it is not the current user's own."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if is_users_own(folder) else None


def is_users_own(folder: Path) -> bool:
    """Whether the user of this process owns the folder and is the only one who can write to it.

    Where folders have no owners, whether it can be written to.
    """
    if not hasattr(os, "geteuid"):
        return os.access(folder, os.W_OK)
    status = folder.stat()
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022 and os.access(folder, os.W_OK)


def source_digest(package: Path = PACKAGE) -> str:
    """A digest of all sources."""
    return _digest_of(package, tuple(sorted(package.rglob("*.py"))))


def digest_for(file: Path, package: Path = PACKAGE) -> str:
    """A digest of all sources on which the kernels of a file may depend."""
    return _digest_of(package, tuple(sorted(file for unit in _units_for(file, package) for file in _files_of(unit))))


@cache
def _digest_of(package: Path, files: tuple[Path, ...]) -> str:
    digest = sha256()
    for file in files:
        digest.update(f"{file.relative_to(package)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def _unit_of(file: Path, package: Path) -> Path:
    """The folder of a file, or the file itself if it lies in none of the package's folders."""
    return file if file.parent == package else file.parent


def _files_of(unit: Path) -> list[Path]:
    return sorted(unit.glob("*.py")) if unit.is_dir() else [unit]


def _units_for(file: Path, package: Path) -> set[Path]:
    """The unit of a file and all that are imported from there, directly or not."""
    waiting, found = [_unit_of(file, package)], set[Path]()
    while waiting:
        unit = waiting.pop()
        if unit not in found:
            found.add(unit)
            waiting += _imported_by(unit, package)
    return found


@cache
def _imported_by(unit: Path, package: Path) -> frozenset[Path]:
    """The units that the files of a unit import."""
    found = set[Path]()
    for file in _files_of(unit):
        for module, names, plain in IMPORT.findall(file.read_text(encoding="utf-8")):
            wanted = [f"{module}.{name}" for name in re.findall(r"\w+", names)] if names else []
            for dotted in (module or plain, *wanted):
                place = package.joinpath(*dotted.split(".")[1:])
                for source in (place.with_suffix(".py"), place / "__init__.py"):
                    if place != package and source.exists():
                        found.add(_unit_of(source, package))
    return frozenset(found)


class KernelLocator(_CacheLocator):
    """Tells numba's cache where a kernel's files are and whether they are stale."""

    def __init__(self, function: Any, file: str) -> None:
        self._line = function.__code__.co_firstlineno
        self._file, self._folder = Path(file), kernel_folder(Path(file))

    def get_cache_path(self) -> str:
        """The folder of the kernel's files."""
        return str(self._folder)

    def get_source_stamp(self) -> str:
        """What must be equal for a kept kernel to be used."""
        return digest_for(self._file)

    def get_disambiguator(self) -> str:
        """What tells functions of one name apart, and kernels with bounds checks from those without."""
        return f"{self._line}-checked" if settings.BOUNDSCHECK else str(self._line)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "KernelLocator":
        """The locator for a function of Engram."""
        return cls(py_func, py_file)


class KernelCacheImpl(CompileResultCacheImpl):
    """Serialises kernels as numba does, and places them as `KernelLocator` says."""

    _locator_classes = [KernelLocator]  # noqa: RUF012 (as numba has it)


class KernelCache(FunctionCache):
    """numba's cache of one function's machine code, placed and dated by `KernelLocator`."""

    _impl_class = KernelCacheImpl
