"""`engram runs`: what there is, in which state, and how well it did."""

import json
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tyro.conf import Positional

from engram.agents import label_of
from engram.commands.options import parse
from engram.commands.screen import Console, Text
from engram.errors import RunFolderError
from engram.lab.cell import strategy_name
from engram.lab.fitted_table import FittedTable
from engram.lab.labels import size_label, strategy_label
from engram.lab.search_file import SEARCH_FILE
from engram.lab.study_folder import STUDY_FILE, StudyFolder
from engram.runs.finished import shown_score
from engram.runs.folder import RunFolder
from engram.runs.glance import Glance, glances_in

COLOURS = {"finished": "green", "running": "cyan", "interrupted": "yellow", "unusable": "red"}
COLUMNS = ("agent", "environment", "steps", "score", "age", "state")
LEAST = ("agent", "environment")  # what is left out where a terminal is narrow: a run's name often tells it
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Options:
    """List the runs in a folder: how far each is, its score, and when it was last worked on."""

    folder: Positional[Path] = Path("runs")  # that holds them; or a study's folder, or a single run
    sort: Literal["age", "score", "name"] = "age"  # the latest, the best, or the first in the alphabet comes first
    json: bool = False  # print the list as JSON


def runs(words: Sequence[str], console: Console) -> None:
    """Carry out `engram runs`."""
    options = parse(Options, prog="engram runs", words=words)
    if not options.folder.is_dir():
        raise RunFolderError(f"there is no folder {options.folder}; train a run: engram train mfec --out runs/first")
    found = sorted(glances_in(options.folder), key=lambda run: _order(run, options.sort))
    alone = len(found) == 1 and found[0].path == options.folder
    studies = [] if alone else _holding(options.folder, STUDY_FILE)
    searches = [] if alone else _holding(options.folder, SEARCH_FILE)
    if options.json:
        console.print(json.dumps([_plain(run) for run in found], indent=2))
        return
    if found:
        _show(found, options.folder, console)
        counts = Counter(run.state for run in found)
        console.print(f"{_count(len(found), 'run')}: {', '.join(f'{n} {state}' for state, n in counts.items())}")
    elif not studies and not searches:
        first = shlex.quote(str(options.folder / "first"))
        console.print(f"{options.folder} holds no runs; train one: engram train mfec --out {first}")
    for path in studies:
        typed = shlex.quote(str(path))
        console.print(f"{path} is the study {StudyFolder(path).name}: engram runs {typed}, engram report {typed}")
    for path in searches:
        console.print(f"{path} is a search for good settings: engram report {shlex.quote(str(path))}")
    for run in found:
        if run.state == "interrupted":
            folder = RunFolder(run.path)
            console.print(f"to go on: {folder.command('engram train --resume', folder.foreign())}")
        elif run.state == "unusable":
            console.print(Text.assemble((f"{run.path.name}: ", "red"), run.why))


def _order(run: Glance, by: str) -> tuple[Any, ...]:
    worst = run.score is None
    orders: dict[str, tuple[Any, ...]] = {
        "age": (-run.changed, run.path.name),
        "score": (worst, 0.0 if run.score is None else -run.score, run.path.name),
        "name": (run.path.name,),
    }
    return orders[by]


def _holding(folder: Path, name: str) -> list[Path]:
    """The folders in a folder that hold a file of this name."""
    return [path for path in sorted(folder.iterdir()) if (path / name).is_file()]


def _show(found: Sequence[Glance], folder: Path, console: Console) -> None:
    """Print the runs as a table, without agents and environments where a terminal is too narrow for them."""
    names = [str(run.path.relative_to(folder)) if run.path != folder else str(folder) for run in found]
    rows: list[list[str | Text]] = [
        [name, *_cells(run), Text(run.state, COLOURS[run.state])] for name, run in zip(names, found, strict=True)
    ]
    table = FittedTable(("run",), COLUMNS, rows, left=("run", *LEAST, "state"))
    for part in (table if table.width() <= console.width else table.without(LEAST)).within(console.width):
        console.print(part)


def _cells(run: Glance) -> tuple[str, ...]:
    """Agent, environment, steps, score and age."""
    if run.state == "unusable":
        return ("–",) * 5
    score = "–" if run.score is None else f"{shown_score(run.score)}"
    steps = f"{run.taken:,}" if run.taken == run.steps else f"{run.taken:,} of {run.steps:,}"
    return agent_text(run), str(run.config["env"]), steps, score, _age(time.time() - run.changed)


def agent_text(run: Glance) -> str:
    """The agent of a run with its memory: `MFEC, DkM, 50`."""
    strategy, capacity = run.settings.get("strategy"), run.settings.get("capacity")
    memory = [strategy_label(strategy_name(strategy))] if isinstance(strategy, dict) else []
    return ", ".join([label_of(run.config["agent"]), *memory, *([] if capacity is None else [size_label(capacity)])])


def _plain(run: Glance) -> dict[str, Any]:
    """A run as an object of the JSON list."""
    about = {"folder": str(run.path), "state": run.state}
    if run.state == "unusable":
        return about | {"why": run.why}
    names = ("id", "agent", "env", "settings")
    return about | {
        **{name: run.config.get(name) for name in names},
        "taken": run.taken,
        "steps": run.steps,
        "score": run.score,
        "changed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(run.changed)),
    }


def _age(seconds: float) -> str:
    """How long ago, in the largest unit that fits."""
    return next((f"{int(seconds // size)} {unit}" for unit, size in UNITS if seconds >= size), "now")


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
