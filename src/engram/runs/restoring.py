"""Going on with a run: from its latest checkpoint that can be used, and without losing what cannot."""

from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

from engram.agents import Agent
from engram.agents.common.model_file import MALFORMED
from engram.errors import EngramError, NewerFormatError, StorageError, UnusableRunError
from engram.files.disk import is_file, move_aside
from engram.runs.checkpoints import Checkpoint, Checkpoints
from engram.runs.log import ProgressLog
from engram.runs.versions import changed_versions

REMEDY = (
    "put back what is missing or damaged, or begin the run again from its first step with --start-over "
    "(in Python start_over=True), which moves its files aside"
)
BEFORE = "make it readable, or move it elsewhere to go on from the checkpoint before it; "


def restore(
    agent: Agent, checkpoints: Checkpoints, log: ProgressLog, products: Iterable[Path], tell: Callable[[str], object]
) -> Checkpoint | None:
    """Load the latest usable checkpoint into the agent; return it, or None if there is none.

    Where there is none, the run begins with its first step: its log, and what it will write at its end (`products`),
    are moved aside if they are there.

    A damaged checkpoint, and those after it, are moved aside if an earlier one can be used. If none can, or if one
    cannot be read for a reason that may pass, an `UnusableRunError` is raised, and nothing is changed.
    """
    paths = checkpoints.paths()
    if not paths:
        _keep_files(log, products, tell)
        return None
    beginning = deepcopy(agent.state_dict())  # a state that does not fit may be half loaded before that shows
    refused: list[str] = []
    for path in reversed(paths):
        try:
            checkpoint = _load(path, checkpoints, log)
            agent.load_state_dict(checkpoint.state)
        except StorageError as error:
            raise UnusableRunError(f"{error}; {BEFORE}{REMEDY}") from error
        except (NewerFormatError, MemoryError) as error:
            raise UnusableRunError(f"cannot go on from {path}: {error or 'out of memory'}; {REMEDY}") from error
        except (EngramError, *MALFORMED) as error:
            refused.append(f"cannot go on from {path.name}: {error}")
            tell(f"{refused[-1]}; trying the checkpoint before it")
            continue
        for aside in _set_aside(path, checkpoints, log, checkpoint.log):
            tell(f"what could not be used is now in {aside}")
        if (change := changed_versions(checkpoint.versions, checkpoints.versions)) is not None:
            tell(f"the checkpoint was written with {change}: results may differ in their last bits from here on")
        tell(f"going on from step {checkpoint.step:,}")
        return checkpoint
    agent.load_state_dict(beginning)
    raise UnusableRunError(f"{'; '.join(refused)}; nothing was changed; {REMEDY}")


def _load(path: Path, checkpoints: Checkpoints, log: ProgressLog) -> Checkpoint:
    """A checkpoint whose part of the log is still there."""
    checkpoint = checkpoints.load(path)
    if not log.holds(checkpoint.log):
        raise UnusableRunError(f"{log.path} is not what it was at step {checkpoint.step:,}")
    return checkpoint


def _set_aside(used: Path, checkpoints: Checkpoints, log: ProgressLog, position: dict[str, Any]) -> list[Path]:
    """Move the checkpoints after the one that is used aside, and a log that does not fit it; return where to."""
    later = checkpoints.set_aside_after(used)
    spoilt = later is not None or not log.goes_on_after(position)
    return [*([later] if later else []), *([log.rewrite(position)] if spoilt and not log.is_empty() else [])]


def _keep_files(log: ProgressLog, products: Iterable[Path], tell: Callable[[str], object]) -> None:
    """Move aside what there is of a run without checkpoints, which begins with its first step."""
    files = [*([] if log.is_empty() else [log.path]), *(path for path in products if is_file(path))]
    if files:
        aside = move_aside(log.path.parent, files)
        names = " and ".join(path.name for path in files)
        tell(f"there is no checkpoint, so the run starts from its first step; {names} as before are now in {aside}")
