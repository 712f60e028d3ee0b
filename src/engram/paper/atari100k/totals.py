"""Human-normalised scores over games, ours beside those of published agents: a table and a figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engram.lab.pages import page
from engram.lab.pages.numbers import interval_text
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.score_tables import NOT_RUN
from engram.lab.pages.wording import counted, listed, seeds_in_words, worth_in_words
from engram.lab.statistics import FEWEST
from engram.paper.atari100k.games import BENCHMARK, headed, title_of
from engram.paper.atari100k.hns_figures import Line, lines_figure
from engram.paper.atari100k.published import NAIT, normalised_scores, peers
from engram.paper.atari100k.standings import Standings

KINDS = ("Mean", "Median", "Interquartile mean")
MANY = 12  # games, from which on those are named that are left out
BOOTSTRAP = (
    "95 % intervals, by drawing runs within each game; games are not drawn, so they tell what other seeds would give, "
    "not what other games would"
)


@dataclass(frozen=True)
class TotalsPart:
    """Totals over one set of games."""

    standings: Standings
    games: Sequence[str]

    @property
    def published(self) -> dict[str, tuple[float, float]]:
        """Mean and median of published agents over the same games; of one only those over all 26 are known."""
        found = {peer.name: normalised_scores(peer, self.games) for peer in peers()}
        whole = {NAIT.name: (NAIT.mean, NAIT.median)} if set(self.games) == set(BENCHMARK) else {}
        return {name: (float(each.mean()), float(np.median(each))) for name, each in found.items()} | whole

    @property
    def over(self) -> str:
        """The games in words."""
        several = counted(len(self.games), "game")
        return "the 26 games" if set(self.games) == set(BENCHMARK) else f"{several} of 26"

    @property
    def same(self) -> str:
        """The games in words, where others have played them too."""
        return self.over if set(self.games) == set(BENCHMARK) else f"the same {self.over}"

    def table(self) -> page.Table:
        """A row for everyone, both ways of playing side by side."""
        protocols = self.standings.protocols
        rows: list[list[str | page.Entry]] = []
        counts = set[int]()
        for contender in self.standings.entrants(self.games):
            totals = [self.standings.totals(contender, protocol, self.games) for protocol in protocols]
            cells = [
                NOT_RUN if each is None else interval_text(each.kinds[kind], 3)
                for kind in range(len(KINDS))
                for each in totals
            ]
            seeds = {n for each in totals if each is not None for n in each.seeds}
            counts |= seeds
            rows.append([page.Entry(self.standings.label(contender), bold=True), *cells, seeds_in_words(seeds)])
        said = {peer.name: peer.runs for peer in peers()}
        for name, (mean, median) in self.published.items():
            runs = said.get(name)
            rows.append([name, *self._as_published(mean, median), "not said" if runs is None else f"{runs}"])
        header = ["", *(headed(kind, each) for kind in KINDS for each in protocols), "runs"]
        known = f" In brackets: {BOOTSTRAP}." if max(counts) >= FEWEST else ""
        note = (
            f"Sticky: with sticky actions.{known} The interquartile mean is over all runs of all "
            "games; mean and median are over games. Published agents: means of the runs that their source counts, over "
            "the same games; no source that says how it played has sticky actions."
        )
        return page.Table(header, rows, f"Human-normalised scores over {self.over}{self._which()}", note=note).without(
            NOT_RUN
        )

    def _which(self) -> str:
        """Which games they are; where they are many, which they are not."""
        others = [title_of(game) for game in BENCHMARK if game not in self.games]
        if not others or len(self.games) < MANY:
            return f": {listed([title_of(game) for game in self.games])}" if others else ""
        return f": all but {listed(others)}"

    def _as_published(self, mean: float, median: float) -> list[str]:
        """A published agent's totals, in the columns of play without sticky actions."""
        return [
            f"{value:.3f}" if value is not None and protocol == "plain" else NOT_RUN
            for value in (mean, median, None)
            for protocol in self.standings.protocols
        ]

    def figure(self, out: Path, alt: str) -> page.Drawing:
        """A line for everyone: ours first, then published agents by their median."""
        lines, seeds = [], set[int]()
        for contender in self.standings.entrants(self.games):
            totals = self.standings.totals_by_protocol(contender, self.games)
            counts = {n for each in totals.values() for n in each.seeds}
            seeds |= counts
            ours = {protocol: each.kinds for protocol, each in totals.items()}
            lines.append(Line(self.standings.label(contender), ours, [{}] * len(KINDS), seeds_in_words(counts)))
        for name, (mean, median) in sorted(self.published.items(), key=lambda item: -item[1][1]):
            lines.append(Line(name, {}, [{name: mean}, {name: median}, {}]))
        known = f" Lines: {BOOTSTRAP}." if max(seeds) >= FEWEST else ""
        caption = (
            f"Human-normalised scores over {self.over}, {seeds_in_words(seeds)}; each panel has its own scale. Dots "
            f"and squares: ours, without and with sticky actions.{known} Diamonds: published agents over the same "
            f"games; their interquartile means over runs are not known. {worth_in_words(seeds)}"
        )
        return write_figure(lines_figure(KINDS, lines), out, f"totals-{len(self.games)}", caption.rstrip(), alt)
