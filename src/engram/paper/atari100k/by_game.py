"""Scores game by game, ours beside those of published agents: a figure and two tables."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engram.lab.pages import page
from engram.lab.pages.numbers import digits_for, score_number, score_text
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.score_tables import MISSING, NOT_RUN
from engram.lab.pages.wording import counted, number_in_words, seeds_in_words, worth_in_words
from engram.lab.statistics import FEWEST, Interval, mean_interval
from engram.paper.atari100k.games import BENCHMARK, BESIDE, Played, Protocol, headed, title_of
from engram.paper.atari100k.hns_figures import LINEAR, Line, lines_figure
from engram.paper.atari100k.published import Peer, normalised_scores, peers
from engram.paper.atari100k.standings import Contender, Standings


@dataclass(frozen=True)
class GamesPart:
    """All games in which someone has all runs."""

    standings: Standings

    @cached_property
    def games(self) -> list[str]:
        """The games, in the order of the benchmark."""
        there = {game for each in self.standings.contenders for game in self.standings.played(each)}
        return [game for game in (*BENCHMARK, *BESIDE) if game in there]

    @cached_property
    def drawn(self) -> list[Contender]:
        """The contenders with most games, which the figure shows."""
        most = max(len(self.standings.played(each)) for each in self.standings.contenders)
        return [each for each in self.standings.contenders if len(self.standings.played(each)) == most]

    def blocks(self, out: Path) -> list[page.Block]:
        """The figure, human-normalised scores, and scores as the games count them."""
        if not self.games:
            return []
        scores = self._table("Scores as the games count them", self._score, _score_of_peer)
        return [
            self.figure(out),
            self._table("Human-normalised scores", self._normalised, _normalised_peer),
            page.Folded("Scores as the games count them", [scores]),
        ]

    def figure(self, out: Path) -> page.Drawing:
        """A line for each game, the first contender's best game first; a panel for each contender."""
        lines, seeds = [], set[int]()
        for game in sorted(self.standings.played(self.drawn[0]), key=self._mean_of_first, reverse=True):
            ours: dict[Protocol, list[Interval | None]] = {}
            counts = set[int]()
            for protocol in self.standings.protocols:
                found = [self.standings.normalised(each, Played(game, protocol)) for each in self.drawn]
                counts |= {len(scores) for scores in found if scores is not None}
                ours[protocol] = [None if scores is None else mean_interval(scores) for scores in found]
            others = {peer.name: float(normalised_scores(peer, [game])[0]) for peer in peers() if game in peer.scores}
            lines.append(Line(title_of(game), ours, [others] * len(self.drawn), seeds_in_words(counts)))
            seeds |= counts
        bars = ", with 95 % intervals of the mean (Student)" if max(seeds) >= FEWEST else ""
        see = self._extremes()
        caption = (
            f"{see} Human-normalised mean scores, {seeds_in_words(seeds)}; the axis is logarithmic beyond {LINEAR:g}. "
            f"Dots and squares: ours, without and with sticky actions{bars}. Diamonds: published agents. The line at 0 "
            f"is random play, the broken one at 1 a person. {worth_in_words(seeds)}"
        )
        panels = [self.standings.label(each) for each in self.drawn]
        return write_figure(lines_figure(panels, lines, logarithmic=True), out, "games", caption.rstrip(), see)

    def _extremes(self) -> str:
        """The first contender's best game and its worst, and in how many it is above every published agent."""
        first, *_ = self.drawn
        means = {game: self._mean_of_first(game) for game in self.standings.played(first)}
        best, worst = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
        theirs = {
            game: [float(normalised_scores(peer, [game])[0]) for peer in peers() if game in peer.scores]
            for game in means
        }
        with_peers = [game for game, scores in theirs.items() if scores]
        above = sum(means[game] > max(theirs[game]) for game in with_peers)
        return (
            f"{self.standings.label(first)} scores highest in {title_of(best)} ({score_number(means[best], 2)}) and "
            f"lowest in {title_of(worst)} ({score_number(means[worst], 2)}); it is above every published agent in "
            f"{number_in_words(above) if above else 'none'} of {counted(len(with_peers), 'game')}."
        )

    def _mean_of_first(self, game: str) -> float:
        """The first contender's mean score in a game, without sticky actions if it was played so."""
        found = [self.standings.normalised(self.drawn[0], Played(game, each)) for each in self.standings.protocols]
        return next(float(scores.mean()) for scores in found if scores is not None)

    def _table(
        self, title: str, ours: Callable[[Contender, Played], str | None], theirs: Callable[[Peer, str], str]
    ) -> page.Table:
        """A row for each game: every contender in both ways, and the published agents."""
        standings = self.standings
        columns = [(each, protocol) for each in standings.contenders for protocol in standings.protocols]
        rows: list[list[str | page.Entry]] = []
        for game in self.games:
            cells = [ours(each, Played(game, way)) or self._absence(each, Played(game, way)) for each, way in columns]
            rows.append([title_of(game), *cells, *(theirs(peer, game) for peer in peers())])
        labels = [headed(standings.label(each), protocol) for each, protocol in columns]
        header = ["game", *labels, *(peer.name for peer in peers())]
        seeds = {len(scores) for (_, played), scores in standings.scores.items() if played.game in self.games}
        ours_are = "mean ± standard deviation over seeds" if max(seeds, default=1) > 1 else "one run each"
        note = (
            f"Ours: {ours_are}; sticky: with sticky actions. {NOT_RUN}: not asked for, or "
            f"not published. {MISSING}: runs are not finished."
        )
        return page.Table(header, rows, f"{title}, {seeds_in_words(seeds)}", note=note).without(NOT_RUN)

    def _normalised(self, contender: Contender, played: Played) -> str | None:
        scores = self.standings.normalised(contender, played)
        return None if scores is None else score_text(scores, 2)

    def _score(self, contender: Contender, played: Played) -> str | None:
        scores = self.standings.scores.get((contender, played))
        return None if scores is None else score_text(scores, digits_for(scores))

    def _absence(self, contender: Contender, played: Played) -> str:
        return MISSING if (contender, played) in self.standings.asked else NOT_RUN


def _normalised_peer(peer: Peer, game: str) -> str:
    return f"{float(normalised_scores(peer, [game])[0]):.2f}" if game in peer.scores else NOT_RUN


def _score_of_peer(peer: Peer, game: str) -> str:
    return f"{peer.scores[game]:,.1f}" if game in peer.scores else NOT_RUN
