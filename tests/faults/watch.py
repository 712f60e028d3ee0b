"""Intercepts file operations below a folder before they happen, to record them or make them fail."""

import io
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from unittest.mock import patch

import safetensors

from engram.files import arrays

WRITING = frozenset({"create", "truncate", "write", "sync", "replace", "make_folder", "sync_folder"})


class Operation(NamedTuple):
    """A file operation that is about to happen."""

    kind: str
    path: str
    at: int = 0  # of a write: where; of a truncation: to how many bytes
    data: bytes = b""
    target: str = ""  # of a replacement: what is replaced


class Watch:
    """While entered, calls `seen` with every operation on a file below `root`; `seen` may raise an error."""

    def __init__(self, root: Path, seen: Callable[[Operation], object]) -> None:
        self._root, self._seen = str(root), seen
        self._paths: dict[int, str] = {}  # of open files
        self._patches = ExitStack()
        self._real = {name: getattr(os, name) for name in OF_PATHS} | {
            name: getattr(os, name) for name in ("open", "close", "fsync", "ftruncate", "pwrite", "replace")
        }
        self._open, self._safe_open = io.open, safetensors.safe_open

    def __enter__(self) -> Self:
        for name, kind in OF_PATHS.items():
            self._patches.enter_context(patch.object(os, name, self._on_path(name, kind)))
        for name in ("open", "close", "fsync", "ftruncate", "pwrite", "replace"):
            self._patches.enter_context(patch.object(os, name, getattr(self, f"_os_{name}")))
        self._patches.enter_context(patch.object(io, "open", self._io_open))
        self._patches.enter_context(patch.object(arrays, "safe_open", self._on_safe_open))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._patches.close()

    def inside(self, path: Any) -> bool:
        return isinstance(path, str | os.PathLike) and str(path).startswith(self._root)

    def see(self, kind: str, path: Any, at: int = 0, data: bytes = b"", target: Any = "") -> None:
        self._seen(Operation(kind, str(path), at, data, str(target)))

    def see_opening(self, path: Any, *, creates: bool, cuts: bool) -> None:
        exists = os.path.lexists(path)
        if creates and not exists:
            self.see("create", path)
        elif cuts:
            self.see("truncate", path)
        else:
            self.see("open", path)

    def _on_path(self, name: str, kind: str) -> Callable[..., Any]:
        def patched(path: Any, *arguments: Any, **options: Any) -> Any:
            if self.inside(path) and (kind != "unlink" or os.path.lexists(path)):
                self.see(kind, path)
            return self._real[name](path, *arguments, **options)

        return patched

    def _on_safe_open(self, path: Any, **options: Any) -> Any:
        if self.inside(path):
            self.see("open", path)
        return self._safe_open(path, **options)

    def _os_open(self, path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if self.inside(path):
            self.see_opening(path, creates=bool(flags & os.O_CREAT), cuts=bool(flags & os.O_TRUNC))
        handle = int(self._real["open"](path, flags, *arguments, **options))
        if self.inside(path):
            self._paths[handle] = str(path)
        return handle

    def _os_close(self, handle: int) -> None:
        self._paths.pop(handle, None)
        self._real["close"](handle)

    def _os_fsync(self, handle: int) -> None:
        if handle in self._paths:
            path = self._paths[handle]
            self.see("sync_folder" if os.path.isdir(path) else "sync", path)  # noqa: PTH112 (a Path would be seen)
        self._real["fsync"](handle)

    def _os_ftruncate(self, handle: int, length: int) -> None:
        if handle in self._paths:
            self.see("truncate", self._paths[handle], length)
        self._real["ftruncate"](handle, length)

    def _os_pwrite(self, handle: int, data: bytes, offset: int) -> int:
        if handle in self._paths:
            self.see("write", self._paths[handle], offset, data)
        return int(self._real["pwrite"](handle, data, offset))

    def _os_replace(self, source: Any, target: Any) -> None:
        if self.inside(source):
            self.see("replace", source, target=target)
        self._real["replace"](source, target)

    def _io_open(self, path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        name = self._paths.get(path) if isinstance(path, int) else str(path)  # a descriptor was seen when it was opened
        if name is None or not self.inside(name):
            return self._open(path, mode, *arguments, **options)
        if not isinstance(path, int):
            self.see_opening(path, creates="w" in mode, cuts="w" in mode)
        if mode in ("r", "rb"):
            return self._open(path, mode, *arguments, **options)
        file = WatchedFile(self._open(path, mode, 0), name, self)
        self._paths[file.fileno()] = name
        return file

    def forget(self, handle: int) -> None:
        self._paths.pop(handle, None)


OF_PATHS = {"unlink": "unlink", "mkdir": "make_folder", "listdir": "list", "stat": "stat"}


class WatchedFile:
    """An unbuffered file that reports the operations on it."""

    def __init__(self, raw: Any, path: str, watch: Watch) -> None:
        self._raw, self._path, self._watch = raw, path, watch

    def write(self, data: bytes) -> int:
        at = self._raw.tell()
        try:
            self._watch.see("write", self._path, at, bytes(data))
        except OSError:
            self._raw.write(data[: len(data) // 2])  # a disk is full in the middle of something
            raise
        return int(self._raw.write(data))

    def truncate(self, size: int) -> int:
        self._watch.see("truncate", self._path, size)
        return int(self._raw.truncate(size))

    def flush(self) -> None:
        self._watch.see("flush", self._path)

    def close(self) -> None:
        self._watch.forget(self._raw.fileno())
        self._raw.close()
        self._watch.see("close", self._path)

    def read(self, size: int = -1) -> bytes:
        self._watch.see("read", self._path)
        return bytes(self._raw.read(size))

    def seek(self, offset: int) -> int:
        return int(self._raw.seek(offset))

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._raw.closed:
            self.close()
