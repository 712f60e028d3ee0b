"""Where a run can be ended: what is saved then, and what is said."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Self

from engram.agents import Agent
from engram.errors import EngramError, Interrupted, Stopped
from engram.runs.stopping import StopRequest, uninterrupted
from engram.sources import is_ours


class SafePoints:
    """While entered, a signal ends the run where nothing is lost, or gives up the step that it is in.

    A checkpoint can be written between two steps, during an evaluation, and while the environment is reset or carries
    out an action: then nothing of the agent changes. While the agent itself is at work its state is not whole. An
    agent of the user's own may keep what it needs between `act` and `observe` where it is not saved, so with one an
    action that is being carried out is given up too.

    Args:
        agent: The agent of the run.
        command: A command that goes on with the run.
    """

    def __init__(self, agent: Agent, command: str) -> None:
        self._agent, self._command = agent, command
        self._own = is_ours(type(agent).__module__)
        self._save: Callable[[], None] | None = None  # None before anything was done
        self._saved: int | None = None  # the step of the latest checkpoint
        self._done = self._finished = False  # the last step; everything
        self._evaluating = False
        self.between_steps = False
        self._stop = StopRequest(self._end)

    @uninterrupted
    def __enter__(self) -> Self:
        self._stop.__enter__()
        try:
            self._stop.guard(self._given_up())
        except BaseException:
            self._stop.__exit__(None, None, None)
            raise
        return self

    @uninterrupted
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.__exit__(kind, error, trace)
        if isinstance(error, Stopped):
            raise Interrupted(error.words, error.signal) from None

    @property
    def asked(self) -> bool:
        """Whether a signal has asked for the end."""
        return self._stop.signal is not None

    @property
    def whole(self) -> bool:
        """Whether the agent is in no step, so that its state can be saved."""
        loop = self._agent.loop
        carried_out = loop.chosen is not None and self._own
        return not self._done and (self.between_steps or self._evaluating or loop.resetting or carried_out)

    @contextmanager
    def recording(self, save: Callable[[], None], saved: int | None) -> Iterator[None]:
        """While entered, `save` writes a checkpoint; `saved` is the step of the latest. An error saves if it can."""
        self._save, self._saved = save, saved
        self._stop.say(self._given_up())
        try:
            yield
        except Exception:
            if self.whole:
                with suppress(EngramError):  # the error that led here is the one to tell
                    self.save()
            raise
        self._done = True

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """While entered, the agent is evaluated, which changes nothing of it."""
        self._evaluating = True
        yield
        self._evaluating = False

    @contextmanager
    def finishing(self) -> Iterator[None]:
        """While entered, the run is written down: a signal lets it finish."""
        with self._stop.saving():
            yield
            self._finished = True

    def save(self) -> None:
        """Write a checkpoint."""
        assert self._save is not None
        with self._stop.saving():
            self._save()
        self._saved = self._agent.steps
        self._stop.say(self._given_up())

    def leave(self) -> None:
        """End the run after a step whose checkpoint was written, if a signal has asked for it."""
        if self._stop.signal is not None:
            raise Interrupted(self._all_saved(), self._stop.signal)

    def _end(self, late: bool) -> str | None:
        if self._save is None:  # nothing has been done yet
            return self._given_up()
        if self.whole:
            try:
                self.save()
            except EngramError as error:
                return f"{error}; {self._given_up()}"
            return self._all_saved()
        return self._given_up() if late and not self._finished else None

    def _all_saved(self) -> str:
        return f"stopped at step {self._agent.steps:,}, with everything saved; go on with: {self._command}"

    def _given_up(self) -> str:
        """What to say when the step that the run is in does not end."""
        if self._save is None:
            return f"stopped before the first step; go on with: {self._command}"
        stands = "nothing was saved before" if self._saved is None else f"the checkpoint of step {self._saved:,} stands"
        return f"stopped in the middle of a step, which was given up; {stands}; go on with: {self._command}"
