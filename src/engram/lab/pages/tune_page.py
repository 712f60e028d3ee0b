"""The page of a search for good settings: the best as a command, what mattered, all trials, and how it went."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import Any, Self

import numpy as np

from engram.agents import label_of
from engram.lab.importance import FEWEST, share_told
from engram.lab.labels import strategy_label
from engram.lab.pages import page
from engram.lab.pages.panels import Panels
from engram.lab.pages.report_folder import check_page_folder, write_figure, write_page
from engram.lab.pages.style import COLOURS
from engram.lab.search_file import SearchRecord, Trial
from engram.pictures.canvas import STYLE, Axes, Figure, mpl
from engram.runs.finished import shown_score

SHOWN = 15  # of the best trials, before the rest is folded away
PANEL = (3.3, 2.3)  # inches
WRAPPED = 9  # letters, after which the name of a value goes on in the next line
DOT, BEST = COLOURS["lru"], COLOURS["dkm"]


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

    @cached_property
    def scored(self) -> list[Trial]:
        """The trials that have a score, the best first."""
        return sorted((each for each in self.trials if each.score is not None), key=lambda each: -(each.score or 0))

    def write(self) -> Path:
        """Write the page and its figures; return the page's path. Another page is not replaced."""
        about = os.path.relpath(self.folder, self.out)
        if about != os.curdir:
            check_page_folder(self.out, about)
        title = f"Settings of {label_of(self.search['agent'])} in {self.search['env']}"
        if self.scored:
            title += f": {shown_score(self.scored[0].score)} is the best of {len(self.trials)} trials"
        return write_page(page.Page(title, self.content(), about), self.out)

    def content(self) -> list[page.Block]:
        """The page from top to bottom."""
        failed = len(self.trials) - len(self.scored)
        blocks: list[page.Block] = [page.Warnings([f"{failed} trials failed, and have no score."])] if failed else []
        if not self.scored:
            return [*blocks, page.Text(self._meaning())]
        return [
            *blocks,
            page.Section("The best", self._best()),
            page.Section("What mattered", self._by_setting()),
            page.Section("All trials", [self._table(self.scored[:SHOWN]), *self._rest(self.scored[SHOWN:])]),
            page.Section("The search", [self._progress()]),
        ]

    def _meaning(self) -> str:
        seeds = self.search["seeds"]
        over = f"with the seed {seeds[0]}" if len(seeds) == 1 else f"over the seeds {', '.join(map(str, seeds))}"
        return f"A trial's score is the mean {over} of runs of {self.search['steps']:,} steps."

    def _best(self) -> list[page.Block]:
        """The best settings, and the commands that train with them."""
        best, command, fresh = self.scored[0], self.record.command, max(self.search["seeds"]) + 1
        seeds = f", by seed {_by_seed(best)}" if len(best.scores) > 1 else ""
        check = command.rpartition(" ")[0] + f" {fresh}"  # the last word is the seed
        return [
            page.Text(f"{_settings(best.settings)}: score {shown_score(best.score)}{seeds}. {self._meaning()}"),
            page.Commands({"train with the best": command, f"with the new seed {fresh}": check}),
            page.Text("The best of many trials is partly luck: look at seeds that were not searched with.", note=True),
        ]

    def _by_setting(self) -> list[page.Block]:
        """A panel for each setting that was searched, the most telling first."""
        told = {name: self._share(name) for name in self.search["space"]}
        drawings = [
            write_figure(self._setting_figure(name), self.out, f"by-{name}", _caption(name, told[name]))
            for name in sorted(told, key=lambda name: -(told[name] or 0.0))
        ]
        shares = (
            "A share is how much of the differences between scores the setting tells by itself, as far as trials can "
            "tell it from chance (adjusted R²)."
        )
        few = f"How much a setting tells is said from {FEWEST} trials on."
        words = f"Every dot is a trial, the best one orange. {few if len(self.scored) < FEWEST else shares}"
        return [Panels(drawings), page.Text(words, note=True)]

    def _share(self, name: str) -> float | None:
        choice = self.search["space"][name]
        values, scores = [each.settings[name] for each in self.scored], [each.score or 0.0 for each in self.scored]
        ordered = isinstance(choice, dict)
        return share_told(values, scores, ordered=ordered, log=ordered and bool(choice.get("log")))

    def _setting_figure(self, name: str) -> Figure:
        choice, best = self.search["space"][name], self.scored[0]
        with mpl.rc_context({**STYLE, "font.size": 9}):
            figure = Figure(figsize=PANEL, layout="constrained")
            axes = figure.subplots()
            names = [] if isinstance(choice, dict) else [shown_setting(name, each) for each in choice]
            for trial in reversed(self.scored):
                value: Any = trial.settings[name]
                place = names.index(shown_setting(name, value)) if names else value
                colour, size, above = (BEST, 7, 4) if trial is best else (DOT, 5, 3)
                axes.plot(place, trial.score or 0.0, "o", color=colour, markersize=size, alpha=0.8, zorder=above)
            _set_axis(axes, names, choice)
            axes.set_title(name, fontsize=10, fontweight="bold", loc="left", pad=5)
            axes.set_ylabel("score")
        return figure

    def _table(self, trials: Sequence[Trial]) -> page.Table:
        names = list(self.search["space"])
        rows = [
            [shown_score(each.score), *(shown_setting(name, each.settings[name]) for name in names), _by_seed(each)]
            for each in trials
        ]
        return page.Table(["score", *names, "by seed"], rows)

    def _rest(self, trials: Sequence[Trial]) -> list[page.Block]:
        return [page.Folded(f"The other {len(trials)} trials", [self._table(trials)])] if trials else []

    def _progress(self) -> page.Drawing:
        """Scores in the order of the trials."""
        scores = np.array([np.nan if trial.score is None else trial.score for trial in self.trials])
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(6.4, 3.0), layout="constrained")
            axes = figure.subplots()
            numbers = np.arange(1, len(scores) + 1)
            axes.plot(numbers, scores, "o", color=DOT, markersize=5, alpha=0.8)
            axes.step(numbers, np.fmax.accumulate(scores), color=BEST, where="post", linewidth=1.8)
            axes.set_xlabel("trial")
            axes.set_ylabel("score")
            axes.xaxis.set_major_locator(mpl.ticker.MaxNLocator(integer=True))
        caption = "The trials in their order (dots), and the best score so far (line)."
        return write_figure(figure, self.out, "progress", caption)


def shown_setting(name: str, value: Any) -> str:
    """The value of a setting as text: a strategy by its label, numbers with four digits."""
    if name == "strategy":
        return strategy_label(str(value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _settings(settings: Mapping[str, Any]) -> str:
    text = ", ".join(f"{name} {shown_setting(name, value)}" for name, value in settings.items())
    return f"{text[:1].upper()}{text[1:]}"


def _by_seed(trial: Trial) -> str:
    return ", ".join(shown_score(score) for score in trial.scores)


def _caption(name: str, share: float | None) -> str:
    if share is None:
        return f"Scores by {name}."
    return f"Scores by {name}, which tells {100 * share:.0f} % of their differences."


def _set_axis(axes: Axes, names: Sequence[str], choice: Any) -> None:
    """The axis of a setting: other values than numbers side by side, orders of magnitude at equal distances."""
    if names:
        axes.set_xticks(range(len(names)), [fill(name, WRAPPED) for name in names])
        axes.set_xlim(-0.5, len(names) - 0.5)
        return
    if choice.get("log"):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_minor_formatter(mpl.ticker.NullFormatter())
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
