"""Progress for people: a bar in a terminal, plain lines elsewhere."""

from time import monotonic
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from engram.training.events import EpisodeEnd, Evaluation, Event, Step

REFRESH_SECONDS = 0.1
LINE_SECONDS = 10.0  # between two lines when there is no terminal


class Watched(Protocol):
    """What the bar shows of an agent."""

    @property
    def name(self) -> str:
        """The name of its algorithm."""

    @property
    def steps(self) -> int:
        """Steps of training taken so far."""

    @property
    def exploration(self) -> Any:
        """How it chooses actions; it may know the probability of a random one."""


class ProgressBar:
    """Steps per second, ε, the last return, the last evaluation, how full the memory is."""

    def __init__(self, agent: Watched, total: int, *, console: Console | None = None) -> None:
        self._agent = agent
        self._total = total
        self._begin = agent.steps
        self._first_step: int | None = None  # after which the clock runs; a resumed run has some behind it
        self._last_step = agent.steps
        self._console = console or Console(stderr=True)
        self._last_return = self._last_evaluation = "–"
        self._started = self._last_time = monotonic()
        self._next_look = 0
        self._live = self._console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=self._console,
            auto_refresh=False,
            disable=not self._live,
        )
        self._task = self._progress.add_task(agent.name, total=total, status="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._show(self._agent.steps, monotonic(), final=True)
        self._progress.stop()

    def __call__(self, event: Event) -> None:
        """Update the display; the clock is read only every 50 steps."""
        if isinstance(event, Step):
            if self._first_step is None:
                self._first_step = self._last_step = event.step - 1
            if event.step >= self._next_look:
                self._look(event.step)
        elif isinstance(event, EpisodeEnd):
            self._last_return = f"{event.total:g}"
        elif isinstance(event, Evaluation):
            self._last_evaluation = f"{event.mean:.4g}"

    def _look(self, step: int) -> None:
        now = monotonic()
        due = REFRESH_SECONDS if self._live else LINE_SECONDS
        if now - self._last_time >= due:
            self._show(step, now)
        self._next_look = step + 50

    def _show(self, step: int, now: float, *, final: bool = False) -> None:
        since, before = (self._started, self._first_step or 0) if final else (self._last_time, self._last_step)
        rate = (step - before) / max(now - since, 1e-9)
        self._last_time, self._last_step = now, step
        epsilon = self._agent.exploration.epsilon(step)
        parts = [
            f"{rate:,.0f} steps/s",
            *([] if epsilon is None else [f"ε {epsilon:.3f}"]),
            f"return {self._last_return}",
            f"evaluation {self._last_evaluation}",
        ]
        memory = getattr(self._agent, "memory", None)
        if memory is not None:
            parts.append(f"memory {memory.size.mean() / memory.capacity:.0%}")
        status = " · ".join(parts)
        if self._live:
            self._progress.update(self._task, completed=step - self._begin, status=status, refresh=True)
        else:
            self._console.print(
                f"{self._agent.name} {step - self._begin:,}/{self._total:,} steps · {status}",
                highlight=False,
                markup=False,
            )
