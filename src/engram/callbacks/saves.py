"""Saving the agent while it learns."""

from collections.abc import Iterable
from math import inf
from pathlib import Path

from engram import checks
from engram.agents import Agent
from engram.files.disk import make_folder, whole_path
from engram.training.callback import Callback
from engram.training.events import Evaluation, Event, Step


class SaveBest(Callback):
    """Saves the agent whenever an evaluation is better than all before it."""

    def __init__(self, path: str | Path) -> None:
        self.path = whole_path(Path(path))  # an environment may change to another folder
        self.score = -inf  # the mean return of the best evaluation so far

    def catch_up(self, agent: Agent, events: Iterable[Event]) -> None:
        """Take over the best score of a run that goes on, whose agent is in the file already."""
        self.score = max((event.mean for event in events if isinstance(event, Evaluation)), default=-inf)

    def on_event(self, agent: Agent, event: Event) -> None:
        """Save the agent if it was never better."""
        if isinstance(event, Evaluation) and event.mean > self.score:
            make_folder(self.path.parent)
            agent.save(self.path)
            self.score = event.mean


class Checkpoint(Callback):
    """Saves the agent to a file of its own every so many steps: `FOLDER/step-000000010000.safetensors`.

    A run in a folder needs none to go on after an interruption: it has its own.
    """

    def __init__(self, folder: str | Path, every: int = 10_000) -> None:
        self._folder = whole_path(Path(folder))
        self._every = checks.at_least("every", every, 1)

    def on_event(self, agent: Agent, event: Event) -> None:
        """Save when it is time."""
        if isinstance(event, Step) and event.step % self._every == 0:
            make_folder(self._folder)
            agent.save(self._folder / f"step-{event.step:012d}.safetensors")
