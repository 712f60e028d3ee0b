"""The progress of a study on the terminal: a table of scores that fills in, or plain lines where there is none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from types import TracebackType
from typing import Self

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from engram.envs.names import names_apart
from engram.lab.cell import strategy_name
from engram.lab.fitted_table import FittedTable, height_of
from engram.lab.labels import strategy_label
from engram.lab.outcome import Begun, News, Outcome
from engram.runs.run import Run

LINE_SECONDS = 30.0  # between two lines when there is no terminal
MOST_LINES = 40  # of the table, on a screen
CAPTION = "mean ± standard deviation over seeds; in brackets how many, where not all are done"


@dataclass
class Watch:
    """Counts the runs of a study by what became of them, and shows their scores."""

    runs: Sequence[Run]
    console: Console
    variants: Mapping[str, str] = field(default_factory=dict)  # by run id, what differs from the rest of the study
    done: int = 0
    reused: int = 0
    failed: int = 0
    running: dict[str, Run] = field(default_factory=dict)
    scores: dict[tuple[str, ...], dict[str, list[float]]] = field(
        default_factory=dict
    )  # row → column → one per finished seed

    def __post_init__(self) -> None:
        self._started = self._last_line = monotonic()
        self._columns = list(dict.fromkeys(_column(run) for run in self.runs))
        self._envs = names_apart(run.env for run in self.runs)
        self.scores = {self._row(run): {} for run in self.runs}
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(get_renderable=self.picture, console=self.console, refresh_per_second=2, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        if self.reused:
            self.console.print(f"{self.reused} of {len(self.runs)} runs were finished before and are reused")
        if kind is not None:
            self.console.print(self.line())
            return
        for part in self.table().within(self.console.width):
            self.console.print(part)
        self.console.print(Text(CAPTION, "dim"), soft_wrap=False)

    def __call__(self, news: News) -> None:
        """Note that a run began or ended."""
        if isinstance(news, Begun):
            self.running[news.run.id] = news.run
            return
        self.running.pop(news.run.id, None)
        if news.elsewhere:
            self.console.print(f"{news.run.id} is waited for: another process is carrying it out", markup=False)
            return
        if news.again:
            self.console.print(f"{news.run.id} failed and will be tried once more: {news.error}", markup=False)
            return
        self._count(news)
        if self._live is None and monotonic() - self._last_line >= LINE_SECONDS:
            self._last_line = monotonic()
            self.console.print(self.line())

    def _count(self, outcome: Outcome) -> None:
        self.done += outcome.error is None
        self.reused += outcome.reused
        self.failed += outcome.error is not None
        if outcome.result is not None and outcome.result["score"] is not None:
            cell = self.scores[self._row(outcome.run)].setdefault(_column(outcome.run), [])
            cell.append(outcome.result["score"])

    @property
    def left(self) -> int:
        """The number of runs that have not begun."""
        return len(self.runs) - self.done - self.failed - len(self.running)

    @property
    def counts(self) -> dict[str, int]:
        """How many runs were wanted, done, reused and failed."""
        return {"wanted": len(self.runs), "done": self.done - self.reused, "reused": self.reused, "failed": self.failed}

    def line(self) -> str:
        """The counts, the runs per minute and the time that is left, in one line."""
        made = self.done + self.failed - self.reused
        rate = made / max(monotonic() - self._started, 1e-9)
        parts = [f"{self.done} done", f"{len(self.running)} running", f"{self.failed} failed", f"{self.left} left"]
        if made:
            remaining = (self.left + len(self.running)) / rate
            parts += [f"{60 * rate:.1f} runs/min", f"{_duration(remaining)} to go"]
        return " · ".join(parts)

    def table(self) -> FittedTable:
        """Mean ± standard deviation over the seeds that are done, and how many those are, by strategy."""
        wanted = Counter((self._row(run), _column(run)) for run in self.runs)
        several = len({run.env for run in self.runs}) > 1
        rows = [
            [*row[not several :], *(_cell(cells.get(name, []), wanted[row, name]) for name in self._columns)]
            for row, cells in self.scores.items()
        ]
        names = ("environment", "agent", "entries")
        return FittedTable(names[not several :], self._columns, rows, left=names[:2], separable=True)

    def _row(self, run: Run) -> tuple[str, ...]:
        """The environment, the agent with what differs from the rest of the study, and the memory size of a run."""
        capacity, variant = getattr(run.settings, "capacity", None), self.variants.get(run.id)
        agent = f"{run.agent.label}, {variant}" if variant else run.agent.label
        return self._envs[run.env], agent, "–" if capacity is None else f"{capacity:,}"

    def picture(self) -> RenderableType:
        """The line of counts, the runs that are running, and the table where it fits the screen."""
        table = self.table().within(self.console.width)
        running = ", ".join(self.running) or "nothing"
        parts: list[RenderableType] = [Text(self.line(), style="bold"), Text(f"running: {running}", style="dim")]
        if height_of(table) <= min(MOST_LINES, self.console.height - 4):
            parts += table
        return Group(*parts)


def _column(run: Run) -> str:
    """The strategy of a run, as the table shows it."""
    strategy = run.settings.to_json().get("strategy")
    return "no memory" if strategy is None else strategy_label(strategy_name(strategy))


def _cell(scores: Sequence[float], seeds: int) -> str:
    if not scores:
        return "·" if seeds else ""
    digits = 2 if max(map(abs, scores)) <= 2 else 0
    mean = f"{np.mean(scores):.{digits}f}"
    if len(scores) > 1:
        mean += f" ± {np.std(scores, ddof=1):.{digits}f}"
    return mean if len(scores) == seeds else f"{mean} ({len(scores)})"


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {seconds:02d} s"
