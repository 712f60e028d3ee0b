"""Checkpoints: an agent's whole state on disk, so often that little is lost, so safely that something is always left.

The latest two are kept. What a replay holds is written only once: rows that will not change any more go to files of
their own (segments), which checkpoints name with their checksums. A file is deleted only if it is not needed any more,
and if this process wrote it, or read it and found it whole. What cannot be read is left where it is, or moved aside.
"""

import re
from collections.abc import Iterator, Mapping
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engram.errors import EngramError, ModelFileError
from engram.files.arrays import join, read_arrays, split, write_arrays
from engram.files.disk import check_readable, is_file, list_files, move_aside, remove, storage_errors
from engram.files.file_names import check_file_name
from engram.typing import Array

KEPT = 2
SEGMENT_ROWS = 4096
CHECKPOINT = re.compile(r"checkpoint-\d{12,18}\.safetensors")
SEGMENT = re.compile(r"segment-.+-\d{9,18}\.safetensors")


class Checkpoint(NamedTuple):
    """The state of a run after a step: the agent's state, the log's position, and the versions it was written with."""

    step: int
    state: dict[str, Any]
    log: dict[str, Any]
    versions: dict[str, str]
    cpu_seconds: float = 0.0  # of the run up to here; 0 where an earlier version did not count them


class Checkpoints:
    """The checkpoints in a run's folder.

    Args:
        folder: The run's folder.
        name: Of the run whatever its length, so that a longer one goes on from the same checkpoints.
        versions: Of what the results depend on.
        formerly: Another name under which checkpoints of the run may have been written.
    """

    def __init__(
        self, folder: Path, name: str, versions: Mapping[str, str] | None = None, *, formerly: str | None = None
    ) -> None:
        self._folder, self._name, self.versions = folder, name, dict(versions or {})
        self._names = (name, name if formerly is None else formerly)
        self._whole: set[str] = set()  # segments known to be on disk
        self._needs: dict[Path, set[str]] = {}  # of each checkpoint that is whole, the segments

    def paths(self) -> list[Path]:
        """The checkpoints in the folder, the earliest first."""
        return [path for path in list_files(self._folder, "checkpoint-*") if CHECKPOINT.fullmatch(path.name)]

    def save(self, step: int, state: Mapping[str, Any], log: Mapping[str, Any], *, cpu_seconds: float = 0.0) -> None:
        """Write a checkpoint; then delete those before the one before it."""
        arrays, plain = split(state)
        segments = {name: self._write_segments(name, end, arrays) for name, end in find_rows(plain)}
        about = {"run": self._name, "step": step, "versions": self.versions, "cpu_seconds": cpu_seconds}
        path = self._folder / _name_of(step)
        write_arrays(path, {**about, "log": log, "plain": plain, "segments": segments}, arrays)
        self._needs[path] = {file for each in segments.values() for file in each["files"]}
        del arrays
        self._prune()

    def load(self, path: Path) -> Checkpoint:
        """A checkpoint of this run, or a ModelFileError that says why it cannot be used."""
        manifest, arrays = _read(path)
        try:
            needs = self._segments_of(manifest, path)
            for name, segments in manifest["segments"].items():
                arrays[name] = self._read_segments(arrays[name], segments)
            found = Checkpoint(
                manifest["step"],
                join(arrays, manifest["plain"]),
                manifest["log"],
                manifest.get("versions", {}),
                manifest.get("cpu_seconds", 0.0),
            )
            if not _is_plausible(found) or path.name != _name_of(found.step):
                raise TypeError("its step, log, versions or cost are not those of a checkpoint of this name")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            raise ModelFileError(f"{path} is damaged: its manifest cannot be read ({error!r})") from error
        self._needs[path] = needs
        return found

    def set_aside_after(self, path: Path) -> Path | None:
        """Move the checkpoints after this one aside, and the segments that only they may need; return where to."""
        later = [each for each in self.paths() if each > path]
        needed = self._needed([each for each in self.paths() if each <= path])
        unneeded = [] if needed is None else [each for each in self._segment_paths() if each.name not in needed]
        return move_aside(self._folder, [*later, *unneeded]) if later else None

    def clear(self) -> None:
        """Delete the checkpoints of a run that is finished; what is not one of them stays."""
        for path in self.paths():
            if self._is_known(path):
                self._remove_checkpoint(path)
        self._remove_segments()

    def _prune(self) -> None:
        """Delete the checkpoints before the latest two that are whole, and the segments that no checkpoint needs."""
        whole = [path for path in self.paths() if path in self._needs]
        for path in self.paths():
            if path < min(whole[-KEPT:]) and len(whole) >= KEPT and self._is_known(path):
                self._remove_checkpoint(path)
        self._remove_segments()

    def _remove_checkpoint(self, path: Path) -> None:
        remove(path)
        self._needs.pop(path, None)

    def _remove_segments(self) -> None:
        """Delete the segments that no checkpoint in the folder needs; if one cannot be read, it may need any."""
        needed = self._needed(self.paths())
        if needed is None:
            return
        for path in self._segment_paths():
            if path.name not in needed and (path.name in self._whole or self._is_own_segment(path)):
                self._whole.discard(path.name)
                remove(path)

    def _needed(self, paths: list[Path]) -> set[str] | None:
        """The segments that these checkpoints name; None if one of them cannot be read."""
        if not all(self._is_known(path) for path in paths):
            return None
        return set().union(*(self._needs[path] for path in paths))

    def _is_known(self, path: Path) -> bool:
        """Whether a checkpoint is of this run and whole, apart from its segments."""
        if path not in self._needs:
            try:
                self._needs[path] = self._segments_of(_read(path)[0], path)
            except (EngramError, KeyError, TypeError, ValueError, AttributeError):
                return False
        return True

    def _is_own_segment(self, path: Path) -> bool:
        """Whether a segment is of this run and whole."""
        try:
            return _read(path)[0]["run"] in self._names
        except (EngramError, KeyError):
            return False

    def _segment_paths(self) -> list[Path]:
        return [path for path in list_files(self._folder, "segment-*") if SEGMENT.fullmatch(path.name)]

    def _segments_of(self, manifest: Mapping[str, Any], path: Path) -> set[str]:
        """The segments that a checkpoint names; a ModelFileError if it is not of this run."""
        if manifest["run"] not in self._names:
            raise ModelFileError(f"{path} belongs to another run ({manifest['run']!r:.100})")
        named = [file for each in manifest["segments"].values() for file in each["files"]]
        return {check_file_name("a segment", file) for file in named}

    def _write_segments(self, name: str, end: int, arrays: dict[str, Array]) -> dict[str, Any]:
        """Write whole segments of an array to files of their own, and remove them from it; return their names."""
        rows = arrays[name]
        first = end - len(rows)
        begin, stop = -(-first // SEGMENT_ROWS), end // SEGMENT_ROWS
        if begin >= stop:
            return {"at": len(rows), "files": []}
        files = []
        for number in range(begin, stop):
            file = check_file_name("a saved array", f"segment-{name.replace('/', '.')}-{number:09d}.safetensors")
            if file not in self._whole:
                part = {"rows": rows[number * SEGMENT_ROWS - first : (number + 1) * SEGMENT_ROWS - first]}
                write_arrays(self._folder / file, {"run": self._name}, part)
                self._whole.add(file)
            files.append(file)
        before, after = begin * SEGMENT_ROWS - first, stop * SEGMENT_ROWS - first
        arrays[name] = np.concatenate([rows[:before], rows[after:]])
        return {"at": before, "files": files}

    def _read_segments(self, rows: Array, segments: Mapping[str, Any]) -> Array:
        """The array with the rows of its segments read back."""
        parts = []
        for file in segments["files"]:
            manifest, arrays = _read(self._folder / file)
            part = arrays["rows"]
            if manifest["run"] not in self._names or part.shape != (SEGMENT_ROWS, *rows.shape[1:]):
                raise ModelFileError(f"{self._folder / file} is not a segment of this run")
            parts.append(part)
            self._whole.add(file)
        at = segments["at"]
        return np.concatenate([rows[:at], *parts, rows[at:]])


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The manifest and the arrays of a file in a run's folder; a StorageError where it cannot be opened."""
    if not is_file(path):
        raise ModelFileError(f"{path} is missing")
    check_readable(path)
    with storage_errors("read", path):
        return read_arrays(path)


def _name_of(step: int) -> str:
    return f"checkpoint-{step:012d}.safetensors"


def _is_plausible(checkpoint: Checkpoint) -> bool:
    """Whether the parts of a checkpoint that are not the agent's have the types that they should have."""
    log, versions, cost = checkpoint.log, checkpoint.versions, checkpoint.cpu_seconds
    return (
        type(checkpoint.step) is int
        and type(log["bytes"]) is int
        and log["bytes"] >= 0
        and type(cost) in (int, float)
        and 0 <= cost < inf
        and isinstance(versions, dict)
        and all(isinstance(text, str) for pair in versions.items() for text in pair)
    )


def find_rows(plain: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, int]]:
    """Path and end of each array in a state that is stored in segments."""
    for name, value in plain.items():
        if isinstance(value, dict):
            if "rows_end" in value:
                yield prefix + name, value["rows_end"]
            else:
                yield from find_rows(value, f"{prefix}{name}/")
