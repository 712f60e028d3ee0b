"""The page of a search for good settings: the best of them, all trials, and how the score depends on each setting."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Self

import numpy as np

from engram.agents import label_of
from engram.lab.pages import page
from engram.lab.pages.report_folder import check_page_folder, write_figure, write_page
from engram.lab.pages.style import COLOURS
from engram.lab.search_file import SearchRecord, Trial, best_of
from engram.pictures.canvas import PAGE_WIDTH, STYLE, Axes, Figure, mpl
from engram.runs.finished import shown_score

SHOWN = 15  # of the best trials, before the rest is folded away
COLUMNS = 3
DOT, LINE = COLOURS["lru"], COLOURS["dkm"]


@dataclass(frozen=True)
class TuneReport:
    """The page of a search, from its `tune.json`."""

    record: SearchRecord
    folder: Path  # of the search
    out: Path  # where files are written

    @classmethod
    def read(cls, folder: Path, out: Path) -> Self:
        """The report on the search that a folder holds."""
        return cls(SearchRecord.read(folder), folder, out)

    @property
    def search(self) -> dict[str, Any]:
        """What was searched."""
        return self.record.search

    @property
    def trials(self) -> list[Trial]:
        """What was tried, in that order."""
        return self.record.trials

    def write(self) -> Path:
        """Write the page and its figures; return the page's path. Another page is not replaced."""
        about = os.path.relpath(self.folder, self.out)
        if about != os.curdir:
            check_page_folder(self.out, about)
        best = best_of(self.trials)
        came = (
            ""
            if best is None or best.score is None
            else f": {shown_score(best.score)} is the best of {len(self.trials)} trials"
        )
        title = f"Settings of {label_of(self.search['agent'])} in {self.search['env']}{came}"
        return write_page(page.Page(title, self.content(), about), self.out)

    def content(self) -> list[page.Block]:
        """The page from top to bottom."""
        scored = sorted(
            (trial for trial in self.trials if trial.score is not None), key=lambda each: -(each.score or 0)
        )
        failed = len(self.trials) - len(scored)
        seeds = ", ".join(map(str, self.search["seeds"]))
        told = f"A trial's score is the mean over the seeds {seeds} of runs of {self.search['steps']:,} steps. "
        blocks: list[page.Block] = [
            *([page.Warnings([f"{failed} trials failed, and have no score."])] if failed else []),
            page.Text(
                told + "The best of many trials is partly luck: train it with seeds that were not searched with."
            ),
        ]
        if not scored:
            return blocks
        return [
            *blocks,
            page.Commands({"train with the best": self.record.command}),
            page.Section(
                "By setting", [self._draw(self._by_setting(), "by-setting", "The score of each trial, by setting.")]
            ),
            page.Section("Trials", [self._table(scored[:SHOWN]), *self._rest(scored[SHOWN:])]),
            page.Section(
                "The search",
                [self._draw(self._progress(), "progress", "The trials in their order, and the best so far.")],
            ),
        ]

    def _draw(self, figure: Figure, name: str, caption: str) -> page.Drawing:
        return write_figure(figure, self.out, name, caption)

    def _table(self, trials: Sequence[Trial]) -> page.Table:
        names = list(self.search["space"])
        rows = [
            [f"{shown_score(each.score)}", *(str(each.settings[name]) for name in names), _spread(each)]
            for each in trials
        ]
        return page.Table(["score", *names, "of each seed"], rows)

    def _rest(self, trials: Sequence[Trial]) -> list[page.Block]:
        return [page.Folded("All other trials", [self._table(trials)])] if trials else []

    def _by_setting(self) -> Figure:
        """A panel for each setting that was searched."""
        space, scored = self.search["space"], [trial for trial in self.trials if trial.score is not None]
        rows = ceil(len(space) / COLUMNS)
        with mpl.rc_context({**STYLE, "font.size": 9}):
            figure = Figure(figsize=(PAGE_WIDTH, 0.3 + 2.1 * rows), layout="constrained")
            grid = figure.subplots(rows, COLUMNS, squeeze=False, sharey=True)
            for axes, (name, choice) in zip(grid.flat, space.items(), strict=False):
                _draw_setting(axes, [trial.settings[name] for trial in scored], [each.score for each in scored], choice)
                axes.set_xlabel(name, fontweight="bold")
            for axes in grid.flat[len(space) :]:
                axes.set_visible(False)
            figure.supylabel("Score", fontsize=9.5)
        return figure

    def _progress(self) -> Figure:
        """Scores in the order of the trials."""
        scores = np.array([np.nan if trial.score is None else trial.score for trial in self.trials])
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(6.4, 3.0), layout="constrained")
            axes = figure.subplots()
            numbers = np.arange(1, len(scores) + 1)
            axes.plot(numbers, scores, "o", color=DOT, markersize=5, alpha=0.75)
            axes.step(numbers, np.fmax.accumulate(scores), color=LINE, where="post", linewidth=1.8)
            axes.set_xlabel("Trial")
            axes.set_ylabel("Score")
            axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
        return figure


def _draw_setting(axes: Axes, values: Sequence[Any], scores: Sequence[Any], choice: Any) -> None:
    """The scores over the values of a setting: numbers on an axis, other values side by side."""
    if isinstance(choice, dict):
        axes.plot(values, scores, "o", color=DOT, markersize=5, alpha=0.75)
        if choice.get("log"):
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
            axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
            axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
        return
    names = [str(each) for each in choice]
    places = [names.index(str(value)) for value in values]
    axes.plot(places, scores, "o", color=DOT, markersize=5, alpha=0.75)
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)


def _spread(trial: Trial) -> str:
    return ", ".join(f"{shown_score(score)}" for score in trial.scores)
