"""A log for TensorBoard, in its own file format; needs no PyTorch."""

from collections.abc import Iterable
from pathlib import Path
from time import time
from typing import Any

from engram.agents import Agent
from engram.callbacks.scalars import scalars_of
from engram.errors import MissingExtraError
from engram.files.disk import storage_errors, whole_path
from engram.training.callback import Callback
from engram.training.events import Event

FLUSH_SECONDS = 10  # after which TensorBoard sees what is new


class TensorBoardLog(Callback):
    """Writes a scalar for each number of an episode or evaluation: `tensorboard --logdir FOLDER` shows them.

    Where learning goes on there is a new file beside the old one, which tells TensorBoard to forget what the old one
    has of later steps than the agent's own; in a run, it has everything again from the run's own log.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = whole_path(Path(folder))
        try:
            from tensorboard.compat.proto import event_pb2, summary_pb2  # noqa: PLC0415 (an extra)
            from tensorboard.summary.writer.event_file_writer import EventFileWriter  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise MissingExtraError(
                'a log for TensorBoard needs tensorboard: pip install "engram-rl[tensorboard]"; or write a CSV file'
            ) from error
        self._forms: Any = event_pb2, summary_pb2
        self._make_writer: Any = EventFileWriter
        self._writer: Any = None

    def catch_up(self, agent: Agent, events: Iterable[Event]) -> None:
        """Write everything that a run has behind it, in the place of what there is."""
        self._open(0)
        for event in events:
            self.on_event(agent, event)
        self._writer.flush()

    def begin(self, agent: Agent) -> None:
        """Go on after the agent's step, unless that was done."""
        if self._writer is None:
            self._open(agent.steps + 1)

    def on_event(self, agent: Agent, event: Event) -> None:
        """Add what an episode or an evaluation brought."""
        if scalars := scalars_of(event):
            events, summaries = self._forms
            values = [summaries.Summary.Value(tag=name, simple_value=value) for name, value in scalars.items()]
            summary = summaries.Summary(value=values)
            self._writer.add_event(events.Event(wall_time=time(), step=event.step, summary=summary))

    def end(self, agent: Agent) -> None:
        """Write what waits, and close the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _open(self, step: int) -> None:
        """Begin a file that counts from a step on, whatever earlier files say of it and of later ones."""
        events, _ = self._forms
        with storage_errors("write", self.folder):
            self._writer = self._make_writer(str(self.folder), flush_secs=FLUSH_SECONDS)
        start = events.SessionLog(status=events.SessionLog.START)
        self._writer.add_event(events.Event(wall_time=time(), step=step, session_log=start))
