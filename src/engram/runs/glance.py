"""What a run's folder tells at a glance: its state, how far it is, its score, and when that was."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from engram.errors import EngramError, InvalidInputError, UnusableRunError
from engram.files.disk import is_file, list_files
from engram.files.lock import HOLDER, is_in_use
from engram.runs.checkpoints import CHECKPOINT
from engram.runs.finished import score_of
from engram.runs.folder import RunFolder
from engram.runs.run import EVALUATION, Run, check_numbers
from engram.training.events import mean_of

State = Literal["finished", "running", "interrupted", "unusable"]


@dataclass(frozen=True)
class Glance:
    """A run as its folder shows it."""

    path: Path
    state: State
    config: Mapping[str, Any] = field(default_factory=dict)
    taken: int = 0  # steps, as far as they are saved
    score: float | None = None  # of a run that is not finished: of its evaluations so far
    changed: float = 0.0  # when the run was last written to, in seconds since 1970
    why: str = ""  # it is unusable

    @property
    def steps(self) -> int:
        """How many steps the run is to take."""
        return int(self.config.get("steps", 0))

    @property
    def settings(self) -> Mapping[str, Any]:
        """The agent's settings."""
        return dict(self.config.get("settings", {}))


def glance_at(path: Path) -> Glance | None:
    """What a folder tells of its run; None if it holds none. Nothing is changed, and nothing that it names imported."""
    folder = RunFolder(path)
    try:
        config = folder.config
        if config is None:
            return None
        changed = max(file.lstat().st_mtime for file in list_files(path, "*.json*"))
        _check(config)
        result = folder.result
    except (EngramError, OSError, KeyError, TypeError) as error:
        return Glance(path, "unusable", why=str(error))
    if result is not None:
        return Glance(path, "finished", config, result["steps"], result["score"], changed)
    saved = [file for file in list_files(path, "checkpoint-*") if CHECKPOINT.fullmatch(file.name)]
    changed = max([changed, *(file.lstat().st_mtime for file in saved)])
    taken = int(saved[-1].stem.partition("-")[2]) if saved else 0
    running = is_file(path / HOLDER) and is_in_use(path)
    return Glance(path, "running" if running else "interrupted", config, taken, _score_so_far(folder), changed)


def glances_in(folder: Path) -> list[Glance]:
    """The runs in a folder, which may be one itself."""
    own = glance_at(folder)
    if own is not None:
        return [own]
    inside = [path for path in list_files(folder, "*") if path.is_dir() and not path.is_symlink()]
    return [found for path in inside if (found := glance_at(path)) is not None]


def _check(config: Mapping[str, Any]) -> None:
    """Raise an error unless a config has what a run is shown by."""
    texts, steps, settings = (config["agent"], config["env"]), config["steps"], config["settings"]
    if not (all(isinstance(each, str) for each in texts) and isinstance(settings, dict) and type(steps) is int):
        raise TypeError("config.json does not describe a run")
    strategy = settings.get("strategy")
    if isinstance(strategy, dict) and not isinstance(strategy.get("name"), str):
        raise TypeError("config.json does not describe a run: its strategy has no name")
    try:
        check_numbers({name: config.get(name, getattr(Run, name)) for name in ("steps", *EVALUATION)})
    except InvalidInputError as error:
        raise TypeError(f"config.json does not describe a run: {error}") from error


def _score_so_far(folder: RunFolder) -> float | None:
    """The mean of the last evaluations in the log, as far as that can be read."""
    scores = list[float]()
    with suppress(UnusableRunError):
        if is_file(folder.progress_file):
            for entry in folder.evaluations():
                scores.append(mean_of(entry["returns"]))
    return score_of(scores)
