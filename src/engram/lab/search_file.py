"""What came of a search for good settings, in `tune.json`: what was searched, every trial, and the best command."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from engram import checks
from engram.errors import RunFolderError
from engram.files.disk import is_file, read_json, write_atomically
from engram.files.lock import FolderLock
from engram.lab.search_space import SearchSpace, choice_of
from engram.lab.study_folder import STUDY_FILE, is_count, is_text
from engram.runs.log import LARGEST

SEARCH_FILE = "tune.json"
PATIENCE_SECONDS = 60.0  # for another process that writes to the folder at the same time


@dataclass(frozen=True)
class Trial:
    """Settings that were tried, and what came of them."""

    number: int
    settings: dict[str, Any]
    scores: list[float]  # of the seeds whose runs were carried out
    failed: int = 0  # runs

    @property
    def score(self) -> float | None:
        """The mean over seeds; None where a run failed."""
        return None if self.failed or not self.scores else float(np.mean(self.scores))


def best_of(trials: Sequence[Trial]) -> Trial | None:
    """The trial with the highest score, of equal ones the first; None if all have failed."""
    scored = [trial for trial in trials if trial.score is not None]
    return max(scored, key=lambda trial: trial.score or 0.0, default=None) if scored else None


@dataclass(frozen=True)
class SearchRecord:
    """What `tune.json` holds."""

    search: dict[str, Any]  # what was searched, as `SearchSpace.to_json` has it
    trials: list[Trial]
    command: str  # that trains with the best settings; empty if all trials failed

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The search in a folder; raise RunFolderError if the file is not as `write_search` leaves it."""
        path = folder / SEARCH_FILE
        try:
            content = read_json(path)
            trials = [
                Trial(each["number"], dict(each["settings"]), list(each["scores"]), each["failed"])
                for each in content["trials"]
            ]
            best = content["best"]
            found = cls(dict(content["search"]), trials, "" if best is None else best["command"])
            found.check()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunFolderError(
                f"cannot read {path}: {error!r}; move it elsewhere and start the search again, which writes it anew "
                "and keeps the runs"
            ) from error
        return found

    def check(self) -> None:
        """Raise an error unless everything is of its type and trials are of the space that was searched."""
        search, choices = self.search, {name: choice_of(given) for name, given in self.search["space"].items()}
        words = [each for choice in choices.values() for each in choice.samples if isinstance(each, str)]
        texts = [self.command, search["agent"], search["env"], *choices, *words]
        seeds = search["seeds"]
        if not (
            choices
            and all(is_text(each) for each in texts)
            and is_count(search["steps"], 1)
            and isinstance(seeds, list)
            and all(is_count(seed, 0) for seed in seeds)
        ):
            raise TypeError("it does not describe a search")
        for trial in self.trials:
            tried = all(choice.has(trial.settings[name]) for name, choice in choices.items())
            numbers = [each for each in trial.settings.values() if checks.is_number(each)]
            scored = all(checks.is_number(score) for score in trial.scores)
            finite = all(abs(each) <= LARGEST for each in [*numbers, *trial.scores])
            counts = is_count(trial.number, 0) and is_count(trial.failed, 0)
            if not (tried and scored and finite and counts):
                raise TypeError(f"trial {trial.number!r:.20} is not one of the search")


def check_is_of(space: SearchSpace, out: Path) -> None:
    """Raise RunFolderError if a folder holds another search, or a study."""
    if is_file(out / STUDY_FILE):
        raise RunFolderError(f"{out} holds a study; choose another folder with --out")
    if not is_file(out / SEARCH_FILE):
        return
    try:
        theirs: Any = read_json(out / SEARCH_FILE)["search"]
    except (ValueError, KeyError, TypeError) as error:
        raise RunFolderError(
            f"cannot read {out / SEARCH_FILE}: {error!r}; move it elsewhere, and the search writes it anew"
        ) from error
    ours = json.loads(json.dumps(space.to_json()))
    if theirs != ours:
        differing = [name for name in ours if not isinstance(theirs, dict) or theirs.get(name) != ours[name]]
        raise RunFolderError(
            f"{out} holds another search (its {', '.join(differing)} differ); choose another folder with --out"
        )


def write_search(space: SearchSpace, trials: Sequence[Trial], out: Path) -> None:
    """Write the search with the trials that were carried out so far."""
    best = best_of(trials)
    shown = None if best is None else {**_plain(best), "command": space.command(best.settings)}
    told = {"search": space.to_json(), "best": shown, "trials": [_plain(trial) for trial in trials]}
    with FolderLock(out, wait_seconds=PATIENCE_SECONDS):
        write_atomically(out / SEARCH_FILE, json.dumps(told, indent=1).encode() + b"\n")


def _plain(trial: Trial) -> dict[str, Any]:
    return {**asdict(trial), "score": trial.score}
