"""Progress for people: a bar in a terminal, plain lines elsewhere."""

from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from engram.training.compilation import CompileNotice
from engram.training.events import EpisodeEnd, Evaluation, Event, Step

REFRESH_SECONDS = 0.1
LINE_SECONDS = 10.0  # between two lines when there is no terminal
LONG_BAR, SHORT_BAR = 24, 8  # columns
ROOMY = 100  # columns of a terminal that is not narrow
FIXED_WIDTH = 16  # columns of the percentage, the time left and the gaps


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
    """Steps per second, ε, the last return, the last evaluation, how full the memory is; and when it is compiling.

    In a narrow terminal the bar is short and what matters least is left out; no number is ever cut.
    """

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
        self._bar_width = LONG_BAR if self._console.width >= ROOMY else SHORT_BAR
        self._progress = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=self._bar_width),
            TaskProgressColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=self._console,
            auto_refresh=False,
            disable=not self._live,
        )
        self._task = self._progress.add_task(agent.name, total=total, status="")
        self._notice = CompileNotice(
            lambda words: self._print(f"{agent.name}: {words}"),
            memory=getattr(agent, "memory", None),
            show=self._show_compiling,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        self._notice.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._notice.__exit__(kind, error, trace)
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
        parts = self._parts(rate, step)
        if self._live:
            taken = len(self._agent.name) + self._bar_width + FIXED_WIDTH
            status = as_many_as_fit(parts, self._console.width - taken)
            self._progress.update(self._task, completed=step - self._begin, status=status, refresh=True)
        else:
            done = f"{self._agent.name} {step - self._begin:,}/{self._total:,} steps"
            self._print(" · ".join([done, *parts]))

    def _parts(self, rate: float, step: int) -> list[str]:
        """What is shown, what matters most first."""
        epsilon = self._agent.exploration.random_share(step)
        memory = getattr(self._agent, "memory", None)
        return [
            f"{rate:,.0f} steps/s",
            f"evaluation {self._last_evaluation}",
            f"return {self._last_return}",
            *([] if epsilon is None else [f"ε {epsilon:.3f}"]),
            *([] if memory is None else [f"memory {memory.size.mean() / memory.capacity:.0%}"]),
        ]

    def _show_compiling(self, kernel: str | None) -> None:
        """Say what is compiled, and do not count the time as training."""
        if kernel is None:
            waited = self._notice.latest_seconds
            self._started, self._last_time = self._started + waited, self._last_time + waited
        elif self._live:
            self._progress.update(self._task, status=f"compiling {kernel}", refresh=True)

    def _print(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def as_many_as_fit(parts: Sequence[str], width: int) -> str:
    """The first of the parts, as many as fit beside each other; always the first."""
    text = parts[0]
    for part in parts[1:]:
        if len(text) + len(part) + 3 > width:
            break
        text = f"{text} · {part}"
    return text
