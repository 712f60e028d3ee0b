"""Going on with a run beyond the length that it was begun with."""

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from engram.agents.common.model_file import read_model
from engram.checks import is_number
from engram.errors import EngramError, InvalidInputError, UnusableRunError
from engram.files.disk import is_file, move_aside, read_file, write_atomically
from engram.files.lock import FolderLock
from engram.runs.folder import RunFolder
from engram.runs.log import end_of
from engram.runs.run import Run
from engram.runs.run_files import as_json
from engram.runs.traced import read_trace


def extend(folder: RunFolder, run: Run, steps: int, tell: Callable[[str], object] = print) -> Run:
    """The same run with more steps, once its folder is ready to go on with it; `folder.record` then does.

    What comes out is what a run of that length gives that was begun anew. What told of a finished run's end is kept
    aside. A power cut at any moment leaves a run of the old or of the new length, from which the same call goes on.
    """
    if steps < run.steps:
        raise InvalidInputError(
            f"{folder.path} was begun with {run.steps:,} steps, so steps must be {run.steps:,} or more, got {steps:,}; "
            "a shorter run is another one: train it into another folder"
        )
    if steps == run.steps:
        return run
    longer = replace(run, steps=steps)
    with FolderLock(folder.path):
        config = folder.path / "config.json"
        before = read_file(config)
        if folder.finished(run) is not None:
            _check_trace(folder)
            _write_last_checkpoint(folder, run)
            names = ("result.json", "model.safetensors", "meta.json")  # the result first: without it nothing is done
            told = [path for name in names if is_file(path := folder.path / name)]
            aside = move_aside(folder.path, told)
            write_atomically(aside / config.name, before)
            tell(f"what told of its end at {run.steps:,} steps is now in {aside}")
        write_atomically(config, as_json(longer.to_json()).encode())
    return longer


def _check_trace(folder: RunFolder) -> None:
    """Raise an error, before anything is moved, if the run has a trace that cannot be gone on with."""
    try:
        read_trace(folder.path)
    except EngramError as error:
        raise UnusableRunError(
            f"{error}; without it the run can go on: delete trace.safetensors and trace-*.safetensors in {folder.path}"
        ) from error


def _write_last_checkpoint(folder: RunFolder, run: Run) -> None:
    """Write the agent and the log as they were after the last step of a finished run as a checkpoint."""
    agent = run.make_agent()
    agent.load_state_dict(read_model(folder.model_file).state)
    position = end_of(read_file(folder.progress_file))
    told: Any = folder.meta.get("cpu_seconds")
    spent = told if is_number(told) and 0 <= told < inf else 0.0
    folder.checkpoints(run).save(agent.steps, agent.state_in_pieces(), position, cpu_seconds=spent)
