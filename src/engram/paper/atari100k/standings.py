"""Who scored what: the scores of each contender in each game, played in one way or the other, and totals over games.

A game counts where all runs that were asked for are finished, in every way in which it is played.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from engram.agents import label_of
from engram.lab.bootstrap import bootstrap, interquartile_mean_of_runs, mean_of_means, median_of_means
from engram.lab.cell import Cell
from engram.lab.labels import strategy_label
from engram.lab.results import Results
from engram.lab.statistics import Interval
from engram.paper.atari100k.games import BENCHMARK, BESIDE, PROTOCOLS, Played, Protocol
from engram.paper.atari100k.published import normalised
from engram.typing import Doubles


class Contender(NamedTuple):
    """Runs that differ in nothing but their game, how it is played, and their seed."""

    agent: str
    strategy: str | None
    capacity: int | None
    variant: str

    @classmethod
    def of(cls, place: Mapping[str, Any]) -> Self:
        """The contender of a run, given its line in `study.json` or its row in the table of evaluations."""
        return cls(*Cell.of(place)[1:], place.get("variant", ""))


class Totals(NamedTuple):
    """Human-normalised scores over games."""

    mean: Interval  # over games of the mean over runs
    median: Interval
    middle: Interval  # interquartile mean over all runs of all games
    seeds: frozenset[int]  # the numbers of runs of the games

    @property
    def kinds(self) -> tuple[Interval, Interval, Interval]:
        """The three totals, in order."""
        return self.mean, self.median, self.middle


@dataclass(frozen=True)
class Standings:
    """The scores of all contenders."""

    results: Results

    @cached_property
    def asked(self) -> dict[tuple[Contender, Played], list[str]]:
        """The runs of each contender in each game of Atari-100k, finished or not; other environments are left out."""
        found: dict[tuple[Contender, Played], list[str]] = {}
        for run, place in self.results.declared.items():
            played = Played.of(place["env"])
            if played.game in (*BENCHMARK, *BESIDE):
                found.setdefault((Contender.of(place), played), []).append(run)
        return found

    @cached_property
    def contenders(self) -> list[Contender]:
        """All contenders, in the order of the study."""
        return list(dict.fromkeys(contender for contender, _ in self.asked))

    @cached_property
    def protocols(self) -> list[Protocol]:
        """The ways in which games are played."""
        there = {played.protocol for _, played in self.asked}
        return [protocol for protocol in PROTOCOLS if protocol in there]

    @cached_property
    def scores(self) -> dict[tuple[Contender, Played], Doubles]:
        """Of each contender and game all of whose runs are finished, their scores, in order of the seeds."""
        runs = self.results.runs.drop_nulls("score").iter_rows(named=True)
        known = {row["run"]: float(row["score"]) for row in runs}
        return {
            place: np.array([known[run] for run in sorted(wanted, key=lambda run: self.results.declared[run]["seed"])])
            for place, wanted in self.asked.items()
            if all(run in known for run in wanted)
        }

    def runs(self, contender: Contender, protocol: Protocol, games: Sequence[str]) -> list[str]:
        """The runs of a contender in these games, played in this way, as far as all of a game's are finished."""
        places = [(contender, Played(game, protocol)) for game in games]
        return [run for place in places if place in self.scores for run in self.asked[place]]

    def label(self, contender: Contender) -> str:
        """What tables call a contender; its strategy and size are named where there are several."""
        alike = [each for each in self.contenders if (each.agent, each.variant) == (contender.agent, contender.variant)]
        memory = [strategy_label(str(contender.strategy)), f"{contender.capacity:,}"] if len(alike) > 1 else []
        return ", ".join([label_of(contender.agent), *memory, *([contender.variant] if contender.variant else [])])

    def normalised(self, contender: Contender, played: Played) -> Doubles | None:
        """Human-normalised scores, one per seed; None where runs are missing."""
        scores = self.scores.get((contender, played))
        return None if scores is None else normalised(played.game, scores)

    def played(self, contender: Contender) -> list[str]:
        """The games in which a contender has all runs that it was asked for, in every way: all that can be shown."""
        return [game for game in (*BENCHMARK, *BESIDE) if self._is_complete(contender, game)]

    def counted(self, contender: Contender) -> tuple[str, ...]:
        """Those of them that count in totals: games of the benchmark."""
        return tuple(game for game in self.played(contender) if game in BENCHMARK)

    def lacking(self, contender: Contender) -> list[str]:
        """The games in which a contender has been asked for runs that are not finished."""
        asked = dict.fromkeys(played.game for who, played in self.asked if who == contender)
        return [game for game in asked if not self._is_complete(contender, game)]

    def _is_complete(self, contender: Contender, game: str) -> bool:
        places = [(contender, Played(game, protocol)) for protocol in PROTOCOLS]
        wanted = [place for place in places if place in self.asked]
        return bool(wanted) and all(place in self.scores for place in wanted)

    @cached_property
    def fields(self) -> list[tuple[str, ...]]:
        """The sets of games over which contenders can be compared, the largest first."""
        found = dict.fromkeys(self.counted(contender) for contender in self.contenders)
        return sorted((games for games in found if games), key=len, reverse=True)

    def entrants(self, games: Sequence[str]) -> list[Contender]:
        """The contenders that have all these games."""
        return [each for each in self.contenders if set(games) <= set(self.counted(each))]

    def totals(self, contender: Contender, protocol: Protocol, games: Sequence[str]) -> Totals | None:
        """Totals over games; None where one of them was not played in this way."""
        found = [self.normalised(contender, Played(game, protocol)) for game in games]
        strata = [scores for scores in found if scores is not None]
        if not strata or len(strata) < len(games):
            return None
        return Totals(
            bootstrap(strata, mean_of_means),
            bootstrap(strata, median_of_means),
            bootstrap(strata, interquartile_mean_of_runs),
            frozenset(map(len, strata)),
        )

    def totals_by_protocol(self, contender: Contender, games: Sequence[str]) -> dict[Protocol, Totals]:
        """The totals over games in each way in which all of them were played."""
        found = {protocol: self.totals(contender, protocol, games) for protocol in self.protocols}
        return {protocol: each for protocol, each in found.items() if each is not None}
