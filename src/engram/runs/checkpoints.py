"""Checkpoints: an agent's whole state on disk, so often that little is lost, so safely that something is always left.

The latest two are kept. What a replay holds is written only once: rows that will not change any more go to files of
their own (segments), which checkpoints name with their checksums.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engram.errors import ModelFileError
from engram.files.arrays import join, read_arrays, split, write_arrays
from engram.files.disk import list_files, remove
from engram.typing import Array

KEPT = 2
SEGMENT_ROWS = 4096


class Checkpoint(NamedTuple):
    """The state of a run after a step: the agent's state and the log's position."""

    step: int
    state: dict[str, Any]
    log: dict[str, Any]


class Checkpoints:
    """The checkpoints in a run's folder."""

    def __init__(self, folder: Path, run_id: str) -> None:
        self._folder, self._run_id = folder, run_id
        self._whole: set[str] = set()  # segments known to be on disk
        self._needs: dict[Path, set[str]] = {}  # of each checkpoint, the segments that it names

    def __bool__(self) -> bool:
        return bool(self._paths())

    def save(self, step: int, state: Mapping[str, Any], log: Mapping[str, Any]) -> None:
        """Write a checkpoint; then delete all but this one and the one before."""
        arrays, plain = split(state)
        segments = {name: self._write_segments(name, end, arrays) for name, end in find_rows(plain)}
        manifest = {"run": self._run_id, "step": step, "log": log, "plain": plain, "segments": segments}
        path = self._folder / f"checkpoint-{step:012d}.safetensors"
        write_arrays(path, manifest, arrays)
        self._needs[path] = {file for each in segments.values() for file in each["files"]}
        self._prune(path)

    def load(self, tell: Callable[[str], object]) -> Iterator[Checkpoint]:
        """The checkpoints that can be read, the latest first; `tell` gets the reason for each that cannot."""
        for path in reversed(self._paths()):
            try:
                manifest, arrays = read_arrays(path)
                if manifest["run"] != self._run_id:
                    raise ModelFileError(f"{path} belongs to another run ({manifest['run']})")
                self._needs[path] = {file for each in manifest["segments"].values() for file in each["files"]}
                for name, segments in manifest["segments"].items():
                    arrays[name] = self._read_segments(arrays[name], segments)
                yield Checkpoint(manifest["step"], join(arrays, manifest["plain"]), manifest["log"])
            except (ModelFileError, OSError, KeyError, TypeError, ValueError) as error:
                tell(f"{error}; falling back to the checkpoint before it")

    def clear(self) -> None:
        """Delete all checkpoints, of a run that is finished."""
        for path in [*self._paths(), *list_files(self._folder, "segment-*.safetensors")]:
            remove(path)

    def _paths(self) -> list[Path]:
        return list_files(self._folder, "checkpoint-*.safetensors")

    def _write_segments(self, name: str, end: int, arrays: dict[str, Array]) -> dict[str, Any]:
        """Write whole segments of an array to files of their own, and remove them from it; return their names."""
        rows = arrays[name]
        first = end - len(rows)
        begin, stop = -(-first // SEGMENT_ROWS), end // SEGMENT_ROWS
        if begin >= stop:
            return {"at": len(rows), "files": []}
        files = []
        for number in range(begin, stop):
            file = f"segment-{name.replace('/', '.')}-{number:09d}.safetensors"
            if file not in self._whole:
                part = {"rows": rows[number * SEGMENT_ROWS - first : (number + 1) * SEGMENT_ROWS - first]}
                write_arrays(self._folder / file, {"run": self._run_id}, part)
                self._whole.add(file)
            files.append(file)
        before, after = begin * SEGMENT_ROWS - first, stop * SEGMENT_ROWS - first
        arrays[name] = np.concatenate([rows[:before], rows[after:]])
        return {"at": before, "files": files}

    def _read_segments(self, rows: Array, segments: Mapping[str, Any]) -> Array:
        """The array with the rows of its segments read back."""
        parts = []
        for file in segments["files"]:
            if "/" in file or "\\" in file:
                raise ModelFileError(f"{file} is not the name of a segment")
            manifest, arrays = read_arrays(self._folder / file)
            part = arrays["rows"]
            if manifest["run"] != self._run_id or part.shape != (SEGMENT_ROWS, *rows.shape[1:]):
                raise ModelFileError(f"{self._folder / file} is not a segment of this run")
            parts.append(part)
            self._whole.add(file)
        at = segments["at"]
        return np.concatenate([rows[:at], *parts, rows[at:]])

    def _prune(self, latest: Path) -> None:
        """Delete what neither the latest checkpoint nor the one before it needs."""
        paths = self._paths()
        kept = [path for path in paths if path <= latest][-KEPT:]  # any of a later step was found to be unusable
        for path in paths:
            if path not in kept:
                remove(path)
        if all(path in self._needs for path in kept):  # of a damaged one nobody knows what it needs
            needed = set().union(*(self._needs[path] for path in kept))
            for path in list_files(self._folder, "segment-*.safetensors"):
                if path.name not in needed:
                    self._whole.discard(path.name)
                    remove(path)


def find_rows(plain: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Path and end of each array in a state that is stored in segments."""
    for name, value in plain.items():
        if isinstance(value, dict):
            if "rows_end" in value:
                yield prefix + name, value["rows_end"]
            else:
                yield from find_rows(value, f"{prefix}{name}/")
