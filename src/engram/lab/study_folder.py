"""A study's folder: one folder per run, `study.json`, which names the runs, and `calls.jsonl`, how they were made."""

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engram.errors import InvalidInputError, RunFolderError
from engram.files.disk import MOST_JSON_BYTES, is_file, is_folder, read_file, read_json, write_atomically
from engram.files.file_names import check_file_name
from engram.files.lock import FolderLock
from engram.lab.earlier_runs import Earlier, mark_earlier
from engram.lab.grid import Study
from engram.lab.places import MARK, Place, place_in_words, twins
from engram.lab.result_files import TABLE
from engram.lab.study_title import title_of
from engram.runs.folder import RunFolder
from engram.runs.run import EVALUATION, Run
from engram.runs.versions import machine

STUDY_FILE = "study.json"
PATIENCE_SECONDS = 60.0  # for another process that writes to the study's folder at the same time
CELL_SETTINGS = ("strategy", "capacity", "seed")  # which have a place of their own in study.json


class StudyFolder:
    """The files of a study besides those of its runs.

    Several processes may fill one folder at once: what they write is written under a lock, which is held for a moment.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._study = path / STUDY_FILE
        self._calls = path / "calls.jsonl"

    @property
    def name(self) -> str:
        """The name of the study; `none` where the folder holds none."""
        return self._read()["study"] if is_file(self._study) else "none"

    def read(self) -> dict[str, Any]:
        """The study's name, its title, and its runs by id, as `study.json` has them."""
        if not is_folder(self.path):
            raise RunFolderError(f"there is no folder {self.path}; see what there is: engram runs {self.path.parent}")
        if not is_file(self._study):
            raise RunFolderError(f"{self.path} holds no study; run one: engram study NAME --out {self.path}")
        read = self._read()
        with self._malformed():
            study = {"study": read["study"], "title": read["title"], "runs": dict(read["runs"])}
            if not is_text(study["title"]):
                raise TypeError("its title must be text")
            for run_id, place in study["runs"].items():
                _check_place(check_file_name("a run's id", run_id), place)
        return study

    def _read(self) -> dict[str, Any]:
        """What `study.json` holds, whatever the kind of study: at least its name."""
        with self._malformed():
            read = read_json(self._study)
            if not is_text(read["study"]):
                raise TypeError("its name must be text")
            return dict(read)

    @contextmanager
    def _malformed(self) -> Iterator[None]:
        """Raise RunFolderError in place of what reading a file of the wrong form raises."""
        try:
            yield
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunFolderError(
                f"cannot read {self._study}: {error!r}; put it back as it was, or move it elsewhere and start the "
                "study again, which writes it anew and keeps the runs"
            ) from error

    def write(self, name: str, title: str, runs: Mapping[str, Mapping[str, Any]]) -> None:
        """Write `study.json`, with a line for each run."""
        lines = ",\n".join(f"    {json.dumps(run_id)}: {json.dumps(place)}" for run_id, place in runs.items())
        head = f'{{\n  "study": {json.dumps(name)},\n  "title": {json.dumps(title)},\n  "runs": {{\n'
        write_atomically(self._study, f"{head}{lines}\n  }}\n}}\n".encode())

    def declare(self, study: Study, runs: Sequence[Run], *, also: Iterable[Run] | None = None) -> Earlier:
        """Add these runs to `study.json`; return those in it that are not of the study as it is now.

        `also` are the runs of the whole study, by default those of `study`; some of them may have been run before. Two
        runs that would stand in one place of the tables are refused.
        """
        variants = study.variants()
        ours = {run.id: {**place_of(run), "variant": variants.get(run.id, "")} for run in runs}
        _check_apart(ours, runs)
        self._check_is_of(study)
        with self._lock():
            there = self._check_is_of(study)
            whole = () if not there else study.runs() if also is None else also
            every = mark_earlier(there, ours, map(place_of, whole))
            earlier = Earlier.among(every)
            shown = [place for run_id, place in every.items() if run_id not in earlier.replaced]
            self.write(study.name, study.title or title_of(shown), every)
        return earlier

    def _check_is_of(self, study: Study) -> dict[str, Any]:
        """The runs that the folder has already; raise RunFolderError if they are another study's."""
        if not is_file(self._study):
            return {}
        read = self.read()
        if read["study"] != study.name:
            raise RunFolderError(
                f"{self.path} holds the study {read['study']!r}, not {study.name!r}; choose another with --out"
            )
        return dict(read["runs"])

    def _lock(self) -> FolderLock:
        return FolderLock(self.path, wait_seconds=PATIENCE_SECONDS)

    def take_from(self, others: Iterable[Path], runs: Sequence[Run]) -> int:
        """Copy finished runs of the same ids from other studies' folders; return how many.

        A run is taken only if its config, log, model and result agree with each other. Of a run that is in another
        folder's table of evaluations only, as in one that a report wrote, the rows of the table are taken.
        """
        taken, others, missing = 0, list(others), list[str]()
        for other in others:
            if not other.is_dir():
                raise RunFolderError(f"there is no folder {other} whose runs could be reused; check --reuse")
        for run in runs:
            here = RunFolder.inside(self.path, run.id)
            if here.result is None:
                there = (RunFolder.inside(other, run.id) for other in others)
                finished = next((folder for folder in there if folder.result is not None), None)
                if finished is not None:
                    here.receive(run, finished.finished_files(run))
                    taken += 1
                else:
                    missing.append(run.id)
        return taken + self._take_rows(others, missing)

    def _take_rows(self, others: Iterable[Path], missing: Sequence[str]) -> int:
        """Copy rows of other folders' tables of evaluations; return of how many runs."""
        others = [other for other in others if is_file(other / TABLE) and other.resolve() != self.path.resolve()]
        if not (others and missing):
            return 0
        from engram.lab.evaluation_table import add_to_table  # noqa: PLC0415 (needs polars)

        with self._lock():
            return len(add_to_table(self.path, others, missing))

    def results_in_table(self) -> dict[str, dict[str, Any]]:
        """The results of the runs that the folder's table of evaluations has, by id."""
        if not is_file(self.path / TABLE):
            return {}
        from engram.lab.evaluation_table import results_in_table  # noqa: PLC0415 (needs polars)

        return results_in_table(self.path)

    def log_call(self, words: Sequence[str], started: float, counts: dict[str, int], jobs: str) -> None:
        """Add a line to `calls.jsonl`: a command, how long it took and how many runs it carried out."""
        call = {
            "command": " ".join(words),
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
            "seconds": round(time.time() - started, 1),
            "where": jobs,
            "runs": counts,
            **machine(),
            "cores": os.cpu_count(),
        }
        with self._lock():
            before = read_file(self._calls) if is_file(self._calls) else b""
            write_atomically(self._calls, before, json.dumps(call).encode() + b"\n")

    def calls(self) -> list[dict[str, Any]]:
        """The lines of `calls.jsonl`."""
        if not is_file(self._calls):
            return []
        calls = []
        for number, line in enumerate(read_file(self._calls, MOST_JSON_BYTES).splitlines(), start=1):
            try:
                calls.append(json.loads(line))
                _check_call(calls[-1])
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise RunFolderError(
                    f"cannot read line {number} of {self._calls}: {error!r}; put it back as it was, or move the file "
                    "elsewhere: it tells only how the runs were made"
                ) from error
        return calls


def _check_apart(places: Mapping[str, Place], runs: Sequence[Run]) -> None:
    """Raise InvalidInputError if two of the runs that a study is to have would stand in one place of its tables."""
    if pair := twins(places):
        own = {run.id: ", ".join(run.foreign().values()) for run in runs}
        first, second = (f"{run_id} ({own[run_id]})" if own[run_id] else run_id for run_id in pair)
        raise InvalidInputError(
            f"the study has two runs of {place_in_words(places[pair[0]])}: {first} and {second}; rename one of two "
            "classes that share a name, or give grids that differ in their settings a variant each"
        )


def _check_place(run_id: str, place: Any) -> None:
    """Raise an error unless a run's line in `study.json` has what it should have."""
    strategy, capacity = place["strategy"], place["capacity"]
    described = strategy is None or isinstance(strategy, str)
    described = described or (isinstance(strategy, dict) and isinstance(strategy.get("name"), str))
    if not (
        all(is_text(each) for each in (place["agent"], place["env"], place.get("variant", "")))
        and described
        and is_text(json.dumps(strategy, ensure_ascii=False))
        and is_count(place["seed"], 0)
        and is_count(place["steps"], 1)
        and (capacity is None or is_count(capacity, 1))
        and is_text(place.get("agent_source", ""))
        and place.get(MARK, True) is True
    ):
        raise TypeError(f"the run {run_id} is not described as one")
    check_evaluation(place)


def check_evaluation(settings: Mapping[str, Any]) -> None:
    """Raise an error unless all settings of evaluations that are given can be ones."""
    for name in EVALUATION:
        value = settings.get(name, getattr(Run, name))
        number = type(value) in (int, float) and 0 <= value <= 1 if name == "evaluation_epsilon" else is_count(value, 1)
        if not (number or (value is None and name == "evaluation_max_steps")):
            raise TypeError(f"{name} cannot be {value!r:.80}")


def is_count(value: Any, lowest: int) -> bool:
    """Whether a value is a whole number that a table can hold."""
    return type(value) is int and lowest <= value < 2**63


def is_text(value: Any) -> bool:
    """Whether a value is text that a file can hold."""
    return isinstance(value, str) and value.encode(errors="replace").decode() == value


def _check_call(call: Any) -> None:
    """Raise an error unless a line of `calls.jsonl` has what it should have."""
    texts = [call[name] for name in ("command", "started", "where", "platform", "python")]
    counts = [call["runs"][name] for name in ("done", "reused", "failed")]
    versions = [text for pair in call["versions"].items() for text in pair]
    whole = isinstance(call["seconds"], int | float) and all(type(count) is int for count in counts)
    if not (whole and all(is_text(text) for text in [*texts, *versions])):
        raise TypeError("it does not describe a command")


def place_of(run: Run) -> dict[str, Any]:
    """A run's line in `study.json`: its cell, its seed, its steps, and what is not usual about it."""
    settings, usual = run.settings.to_json(), type(run.settings)().to_json()
    others = {name: value for name, value in settings.items() if name not in CELL_SETTINGS and value != usual.get(name)}
    return {
        "agent": run.agent.name,
        **run.agent_source(),
        "env": run.env,
        "strategy": settings.get("strategy"),
        "capacity": settings.get("capacity"),
        "seed": run.settings.seed,
        "steps": run.steps,
        **({"settings": others} if others else {}),
        **unusual_evaluation({name: getattr(run, name) for name in EVALUATION}),
    }


def unusual_evaluation(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run's evaluations that are not at their defaults."""
    return {name: config[name] for name in EVALUATION if name in config and config[name] != getattr(Run, name)}


def command_line() -> list[str]:
    """The command that was typed."""
    return ["engram", *sys.argv[1:]]
