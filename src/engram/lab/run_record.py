"""What one run left behind, read for its page: its curve, its episodes, its metrics, and how it was made."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from engram.errors import RunFolderError, UnusableRunError
from engram.files.disk import is_file, list_files
from engram.runs.folder import RunFolder
from engram.runs.glance import Glance, glance_at
from engram.typing import Array, Doubles

FILMS = (".gif", ".mp4")


class Series(NamedTuple):
    """Numbers over the steps of training."""

    steps: Array  # [T]
    values: Doubles  # [T]

    @classmethod
    def of(cls, points: list[tuple[int, float]]) -> Self:
        """A series from pairs of step and value."""
        pairs = np.array(points, np.float64).reshape(-1, 2)
        return cls(pairs[:, 0], pairs[:, 1])

    def thinned(self, most: int) -> "Series":
        """At most so many points: means of as many stretches of training."""
        if len(self.steps) <= most:
            return self
        parts = np.array_split(np.arange(len(self.steps)), most)
        return Series(
            np.array([self.steps[part[-1]] for part in parts]), np.array([self.values[part].mean() for part in parts])
        )


@dataclass(frozen=True)
class RunRecord:
    """A run that was carried out, or part of it."""

    name: str  # what the user calls the run: that of its folder
    glance: Glance
    evaluations: Series  # mean returns
    lowest: Doubles  # return of each evaluation
    highest: Doubles
    episodes: Series  # returns of training
    metrics: Mapping[str, Series] = field(default_factory=dict)  # by name, `group/name`
    result: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)  # when and where it was finished

    @property
    def path(self) -> Path:
        """The run's folder."""
        return self.glance.path

    @property
    def films(self) -> list[Path]:
        """Films that lie in the run's folder."""
        return [path for path in list_files(self.path, "*") if path.suffix in FILMS and is_file(path)]

    @classmethod
    def read(cls, path: Path) -> Self:
        """The run in a folder, finished or not."""
        glance = glance_at(path)
        if glance is None:
            raise RunFolderError(f"{path} holds neither a run nor a study; engram runs lists what there is")
        if glance.state == "unusable":
            raise UnusableRunError(glance.why)
        folder, entries = RunFolder(path), list[dict[str, Any]]()
        with suppress(UnusableRunError):  # the line that was being written when the run was interrupted
            if is_file(folder.progress_file):
                for entry in folder.entries():
                    entries.append(entry)
        evaluations = [entry for entry in entries if entry["event"] == "evaluation"]
        return cls(
            path.absolute().name,
            glance,
            Series.of([(entry["step"], float(np.mean(entry["returns"]))) for entry in evaluations]),
            np.array([min(entry["returns"]) for entry in evaluations], np.float64),
            np.array([max(entry["returns"]) for entry in evaluations], np.float64),
            Series.of([(entry["step"], entry["return"]) for entry in entries if entry["event"] == "episode"]),
            _metrics(entries),
            folder.result or {},
            folder.meta,
        )


def _metrics(entries: list[dict[str, Any]]) -> dict[str, Series]:
    """Every metric that the lines of a log carry, over the steps at which they do."""
    points: dict[str, list[tuple[int, float]]] = {}
    for entry in entries:
        for name, value in entry.get("metrics", {}).items():
            points.setdefault(name, []).append((entry["step"], value))
    return {name: Series.of(found) for name, found in sorted(points.items())}
