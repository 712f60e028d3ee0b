"""`engram inspect`: pictures of what an agent's memory holds, and of how that came about."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from engram.agents import Agent
from engram.commands.evaluate import load_agent
from engram.commands.options import as_typed, parse
from engram.commands.part_options import GivenAgain, whole_command
from engram.commands.screen import Console
from engram.errors import InvalidInputError
from engram.files.disk import is_file, whole_path
from engram.lab.cell import strategy_name
from engram.lab.labels import strategy_label
from engram.runs.folder import RunFolder
from engram.runs.traced import Traced, read_trace
from engram.runs.unfinished import newest_agent
from engram.training.events import mean_of
from engram.version import __version__

UNTRACED = (
    "The run was not traced. With --trace, `engram train` also keeps ages and counts of entries, where they come from, "
    "and how the memory changed."
)
UNFINISHED = "The run is not finished; shown is what its newest checkpoint holds."


@dataclass(frozen=True, kw_only=True)
class Inspect(GivenAgain):
    """Draw what a trained agent's memory holds: a page with all pictures, and each as SVG and PNG."""

    out: Path | None = None  # folder of the page; by default `memory` in the run's folder
    axes: str | None = None  # two numbers of an observation to draw along, e.g. 0,2 or "pole angle,pole velocity"
    film: Path | None = None  # of a run with a trace, write how its memory changed: a .gif or an .mp4


def inspect(words: Sequence[str], console: Console) -> None:
    """Carry out `engram inspect`."""
    options = parse(Inspect, prog="engram inspect", words=words)
    out = whole_path(options.out or _beside(options.run))
    film = None if options.film is None else whole_path(options.film)
    if film is not None:
        import_module("engram.pictures.video").check_film(film, _about(options.run, film.parent))
    pictures: Any = import_module("engram.pictures.gallery")  # needs an extra
    if options.out is not None:
        import_module("engram.lab.pages.report_folder").check_page_folder(out, _about(options.run, out))
    folder = RunFolder(options.run) if options.run.is_dir() else None
    unfinished = None if folder is None else _unfinished(folder, options)
    agent = load_agent(options, "engram inspect") if unfinished is None else unfinished
    memory = pictures.memory_of(agent)
    traced = None if folder is None or unfinished is not None else read_trace(folder.path, agent)
    if film is not None and unfinished is not None:
        raise InvalidInputError(f"{options.run} is not finished, and only a finished run is filmed; leave out --film")
    if film is not None and traced is None:
        raise InvalidInputError(f"{options.run} has no trace, so there is nothing to film; train it with --trace")
    if not memory.size.any():
        raise InvalidInputError(f"the memory of {options.run} is empty: no episode has ended yet; train for more steps")
    change = None if traced is None else _film_of(agent, options, folder, traced)
    notes = [UNFINISHED] if unfinished is not None else [UNTRACED] if traced is None else []
    path = _write_page(agent, options, out, traced, change, notes)
    when = "" if unfinished is None else f", which is not finished, as it was saved at step {agent.steps:,},"
    console.print(f"the memory of {options.run}{when} is shown in {path}")
    if film is not None and change is not None:
        about = _about(options.run, film.parent)
        import_module("engram.pictures.video").write_video(film, change.frames(), fps=8, about=about)
        console.print(f"how it changed, {len(change.snapshots)} pictures, is {options.film}")


def _unfinished(folder: RunFolder, options: Inspect) -> Agent | None:
    """The agent of a run that is not finished, if it has a checkpoint."""
    if folder.config is None or folder.result is not None or is_file(folder.model_file):
        return None
    with whole_command("engram inspect", folder, options):
        return newest_agent(folder, options.given())


def _beside(run: Path) -> Path:
    """The folder of the page about a run's folder, or about a model file."""
    return run / "memory" if run.is_dir() else run.with_name(f"{run.stem}-memory")


def _about(run: Path, out: Path) -> str:
    """By what the page of a run's memory, or a film of it, is known in its folder."""
    return f"the memory of {os.path.relpath(run, out)}"


def _film_of(agent: Agent, options: Inspect, folder: RunFolder | None, traced: Traced) -> Any:
    films = import_module("engram.pictures.memory_film")
    curve = [] if folder is None else [(each["step"], mean_of(each["returns"])) for each in folder.evaluations()]
    return films.MemoryFilm(agent, traced.snapshots, curve, title=_who(agent), axes=options.axes)


def _who(agent: Agent) -> str:
    """The agent with its environment and its memory, in words."""
    capacity = agent.memory.capacity  # type: ignore[attr-defined]
    where = agent.source.name or "its environment"
    return f"{agent.label} in {where}, {_strategy(agent)}, {capacity:,} entries per action"


def _lead(agent: Agent) -> str:
    """What the page is about, in a sentence."""
    sizes = agent.memory.size.tolist()  # type: ignore[attr-defined]
    shares = " + ".join(f"{size:,}" for size in sizes)
    return f"{_who(agent)}: after {agent.steps:,} steps it holds {sum(sizes):,} entries ({shares})."


def _strategy(agent: Agent) -> str:
    return strategy_label(strategy_name(agent.memory.strategy.describe()))  # type: ignore[attr-defined]


def _write_page(
    agent: Agent, options: Inspect, out: Path, traced: Traced | None, change: Any, notes: list[str]
) -> Path:
    pages: Any = import_module("engram.lab.pages.memory_page")
    gallery: Any = import_module("engram.pictures.gallery")
    found = gallery.of_memory(agent, axes=options.axes, traced=traced)
    steps = [] if change is None else [f"step {snapshot.step:,}" for snapshot in change.snapshots]
    page: Path = pages.write_memory_page(
        out,
        f"The memory of {options.run.name}",
        found,
        _facts(agent, options),
        about=_about(options.run, out),
        slider=None if change is None else pages.Slider(change.pngs, steps, change.caption),
        lead=_lead(agent),
        notes=notes,
    )
    return page


def _facts(agent: Agent, options: Inspect) -> Any:
    page: Any = import_module("engram.lab.pages.page")
    memory: Any = agent.memory  # type: ignore[attr-defined]
    facts = {
        "Agent": [f"{agent.label}, {agent.steps:,} steps of training, seed {agent.seed}"],
        "Environment": [str(agent.source.name)],
        "Memory": [
            f"{int(memory.size.sum()):,} of {memory.actions} × {memory.capacity:,} entries with keys of "
            f"{memory.key_size} numbers, strategy {_strategy(agent)}"
        ],
        "Reads": [f"the {memory.neighbours} nearest entries"],
        "Made with": [f"Engram {__version__}"],
    }
    return page.Facts(facts, [as_typed("engram inspect", options)])
