"""The course of a run: its steps as they are taken, each logged, traced and told, and saved now and then."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from engram.agents import Agent
from engram.runs.checkpoints import Checkpoints
from engram.runs.log import ProgressLog
from engram.runs.meter import Meter
from engram.runs.run import Run
from engram.runs.safe_points import SafePoints
from engram.runs.trace import Trace
from engram.training.events import Step
from engram.training.listening import Listeners


@dataclass(frozen=True)
class Course:
    """A run that is carried out, and all who take note of it."""

    run: Run
    agent: Agent
    checkpoints: Checkpoints
    log: ProgressLog  # open
    meter: Meter
    trace: Trace | None
    listeners: Listeners
    safe: SafePoints
    due: Callable[[int], bool]  # whether a checkpoint is due at a step

    def take_steps(self, saved: int | None) -> bool:
        """Take the steps that are left; return whether all were taken, and no callback has ended the run before.

        `saved` is the step of the latest checkpoint.
        """
        log, trace, listeners, safe = self.log, self.trace, self.listeners, self.safe
        events = self.run.events(self.agent, evaluated=log.evaluated, evaluating=safe.evaluating)
        with safe.recording(self._save, saved), listeners, closing(events):
            for event in events:
                log(event)
                if trace is not None:
                    trace(event)
                safe.between_steps = isinstance(event, Step)
                listeners(event)
                ends = safe.asked or listeners.stopped
                if isinstance(event, Step) and (ends or self.due(event.step)):
                    safe.save()
                    if ends and event.step < self.run.steps:
                        safe.leave()
                        return False
                safe.between_steps = False
        return True

    def _save(self) -> None:
        traced = {} if self.trace is None else {"trace": self.trace.state_dict()}
        state = self.agent.state_in_pieces() | traced
        self.checkpoints.save(self.agent.steps, state, self.log.position(), cpu_seconds=self.meter.cpu_seconds)
