"""What explains scores: how often states come back, how far play is from what is stored, and how wrong values are."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from engram.files.file_names import as_file_name
from engram.lab.pages import page
from engram.lab.pages.numbers import score_number
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.score_tables import NOT_RUN
from engram.lab.pages.wording import listed, seeds_in_words, sentence
from engram.lab.statistics import FEWEST
from engram.paper.atari100k.games import WAYS, Played, headed, title_of
from engram.paper.atari100k.hns_figures import Point, scatter_figure
from engram.paper.atari100k.run_facts import Facts
from engram.paper.atari100k.standings import Contender, Standings


def in_percent(share: float) -> str:
    """A share of all."""
    return f"{100 * share:.0f} %"


def in_keys(distance: float) -> str:
    """A distance, in units of keys."""
    return f"{distance:,.3g}"


def as_bias(value: float) -> str:
    """A bias, with its sign."""
    return f"{value:+,.3g}"


EXPLAINED: Mapping[str, tuple[str, Callable[[float], str]]] = {  # column of the facts → what it is called, as text
    "reads_exact": ("exact hits in training", in_percent),
    "play_exact": ("exact hits in evaluation", in_percent),
    "reads_distance": ("distance in training", in_keys),
    "play_distance": ("distance in evaluation", in_keys),
    "bias_exact": ("bias of exact hits", as_bias),
    "bias_near": ("bias of neighbours", as_bias),
}
SHARES = {"reads_exact": "In training", "play_exact": "In evaluation"}
NOTE = (
    "Means over runs; sticky: with sticky actions. Exact hits: states that are in the table of the action taken, "
    "exactly. Distance: to the nearest entry there, in units of keys. Bias: the value that is read minus the return "
    "that followed. In training: over the last quarter of its steps. Different returns: among the games of an "
    "evaluation; where they are few, a game is played again and again, or nearly all games score the same."
)


@dataclass(frozen=True)
class ExplanationsPart:
    """What is known of the memory of each contender that has one."""

    standings: Standings
    facts: Facts

    def blocks(self, out: Path) -> list[page.Block]:
        """For each contender of which it is known, scores over exact hits, and a table; all but the first folded."""
        found: list[page.Block] = []
        for contender in self.standings.contenders:
            if self._points(contender, "reads_exact"):
                parts = [*self._scatter(contender, out), self._table(contender)]
                found += [page.Folded(self.standings.label(contender), parts)] if found else parts
        return found

    def _scatter(self, contender: Contender, out: Path) -> list[page.Block]:
        """Scores over the share of exact hits, and how far they go together; a sentence where hits do not differ."""
        every = {title: points for column, title in SHARES.items() if (points := self._points(contender, column))}
        shares = {title: {in_percent(point.share) for point in points} for title, points in every.items()}
        panels = {title: points for title, points in every.items() if len(shares[title]) > 1}
        alike = {title.lower(): found.pop() for title, found in shares.items() if len(found) == 1}
        same = [f"{share} {when}" for when, share in alike.items()]
        said = f"exact hits are {listed(same)}, in every game, so no score is drawn over them" if same else ""
        told: list[page.Block] = [page.Text(sentence(said))] if said else []
        return [*told, *([self._drawn(contender, panels, out)] if panels else [])]

    def _drawn(self, contender: Contender, panels: Mapping[str, list[Point]], out: Path) -> page.Drawing:
        """A panel for each way in which hits are counted."""
        texts = []
        for title, points in panels.items():
            for protocol, words in WAYS.items():
                mine = [point for point in points if point.protocol == protocol]
                pair = [point.share for point in mine], [point.score for point in mine]
                if len(mine) >= FEWEST and all(np.ptp(each) > 0 for each in pair):
                    found = float(stats.spearmanr(*pair).statistic)
                    texts.append(f"{title.lower()}, {words}, {score_number(found, 2)} ({len(mine)} games)")
        together = sentence(f"rank correlation (Spearman): {'; '.join(texts)}") if texts else ""
        label = self.standings.label(contender)
        seeds = {len(self.standings.scores[contender, played]) for played in self._places(contender)}
        caption = f"{label}: each dot is a game, the mean over its runs, {seeds_in_words(seeds)}. {together}"
        name = as_file_name(f"exact-hits-{label.lower().replace(', ', '-').replace(' ', '-')}", 60)
        return write_figure(scatter_figure(panels), out, name, caption.rstrip(), together)

    def _places(self, contender: Contender) -> list[Played]:
        """The games of a contender that are there, in every way in which they were played."""
        places = [Played(game, way) for game in self.standings.played(contender) for way in self.standings.protocols]
        return [played for played in places if (contender, played) in self.standings.scores]

    def _points(self, contender: Contender, column: str) -> list[Point]:
        """The share of exact hits and the score of each game, in each way of playing."""
        found = []
        for played in self._places(contender):
            scores = self.standings.normalised(contender, played)
            share = self.facts.mean(self.standings.runs(contender, played.protocol, [played.game]), column)
            if scores is not None and share is not None:
                found.append(Point(title_of(played.game), played.protocol, share, float(scores.mean())))
        return found

    def _table(self, contender: Contender) -> page.Table:
        """A row for each game, both ways of playing side by side."""
        standings = self.standings
        rows: list[list[str | page.Entry]] = []
        for game in standings.played(contender):
            runs = [standings.runs(contender, protocol, [game]) for protocol in standings.protocols]
            cells = [self.facts.shown(mine, column, how) for column, (_, how) in EXPLAINED.items() for mine in runs]
            counts = seeds_in_words({len(mine) for mine in runs if mine})
            rows.append([title_of(game), *cells, *map(self._different, runs), counts])
        kinds = [*(name for name, _ in EXPLAINED.values()), "different returns"]
        header = ["game", *(headed(kind, each) for kind in kinds for each in standings.protocols), "runs"]
        return page.Table(header, rows, f"{standings.label(contender)}: what the memory knew", note=NOTE).without(
            NOT_RUN
        )

    def _different(self, runs: list[str]) -> str:
        """How many different returns the games of an evaluation have."""
        found, games = (self.facts.mean(runs, column) for column in ("different_returns", "games"))
        return NOT_RUN if found is None or games is None else f"{found:.1f} of {games:.0f}"
