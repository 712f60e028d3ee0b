"""A study's folder: one folder per run, `study.json`, which names the runs, and `calls.jsonl`, how they were made."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from engram.errors import RunFolderError
from engram.files.disk import make_folder, storage_errors, write_atomically
from engram.lab.grid import Study
from engram.runs.folder import RunFolder, machine
from engram.runs.run import EVALUATION, Run

COPIED = ("config.json", "progress.jsonl", "meta.json", "model.safetensors", "result.json")  # in this order
CELL_SETTINGS = ("strategy", "capacity", "seed")  # which have a place of their own in study.json


class StudyFolder:
    """The files of a study besides those of its runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._study = path / "study.json"
        self._calls = path / "calls.jsonl"

    @property
    def name(self) -> str:
        """The name of the study; `none` where the folder holds none."""
        with storage_errors("read", self._study):
            return str(json.loads(self._study.read_text())["study"]) if self._study.exists() else "none"

    def read(self) -> dict[str, Any]:
        """The study's name, its title, and its runs by id, as `study.json` has them."""
        with storage_errors("read", self._study):
            text = self._study.read_text() if self._study.exists() else None
        if text is None:
            raise RunFolderError(f"{self.path} holds no study; run one: engram study cartpole --out {self.path}")
        try:
            read = json.loads(text)
            return {"study": read["study"], "title": read["title"], "runs": dict(read["runs"])}
        except (ValueError, KeyError, TypeError) as error:
            raise RunFolderError(f"{self._study} cannot be read: {error!r}") from error

    def write(self, name: str, title: str, runs: Mapping[str, Mapping[str, Any]]) -> None:
        """Write `study.json`, with a line for each run."""
        lines = ",\n".join(f"    {json.dumps(run_id)}: {json.dumps(place)}" for run_id, place in runs.items())
        head = f'{{\n  "study": {json.dumps(name)},\n  "title": {json.dumps(title)},\n  "runs": {{\n'
        write_atomically(self._study, f"{head}{lines}\n  }}\n}}\n".encode())

    def declare(self, study: Study, runs: Sequence[Run]) -> None:
        """Add these runs to `study.json`."""
        known: dict[str, Any] = {}
        if self._study.exists():
            read = self.read()
            if read["study"] != study.name:
                raise RunFolderError(
                    f"{self.path} holds the study {read['study']!r}, not {study.name!r}; choose another with --out"
                )
            known = read["runs"]
        variants = study.variants()
        known |= {run.id: {**_place(run), "variant": variants.get(run.id, "")} for run in runs}
        self.write(study.name, study.title, known)

    def take_from(self, others: Iterable[Path], runs: Sequence[Run]) -> int:
        """Copy finished runs of the same ids from other studies' folders; return how many."""
        taken, others = 0, list(others)
        for other in others:
            if not other.is_dir():
                raise RunFolderError(f"there is no folder {other} whose runs could be reused; check --reuse")
        for run in runs:
            there = [other / run.id for other in others if (other / run.id / "result.json").exists()]
            here = self.path / run.id
            if there and RunFolder(here).result is None:
                RunFolder(there[0]).claim(run)  # or it is another run
                with storage_errors("copy", there[0]):
                    make_folder(here)
                    for name in COPIED:
                        shutil.copy2(there[0] / name, here / f".{name}.part")
                        (here / f".{name}.part").replace(here / name)
                taken += 1
        return taken

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
        with storage_errors("write", self._calls), self._calls.open("a") as file:
            file.write(json.dumps(call) + "\n")

    def calls(self) -> list[dict[str, Any]]:
        """The lines of `calls.jsonl`."""
        with storage_errors("read", self._calls):
            return [json.loads(line) for line in self._calls.read_text().splitlines()] if self._calls.exists() else []


def _place(run: Run) -> dict[str, Any]:
    """A run's line in `study.json`: its cell, its seed, its steps, and what is not usual about it."""
    settings, usual = run.settings.to_json(), type(run.settings)().to_json()
    others = {name: value for name, value in settings.items() if name not in CELL_SETTINGS and value != usual.get(name)}
    return {
        "agent": run.agent.name,
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
