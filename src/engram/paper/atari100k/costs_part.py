"""What a run costs, beside its score: processor time, bytes of memory, and bytes of the whole agent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from engram.lab.pages import page
from engram.lab.pages.score_tables import NOT_RUN
from engram.lab.pages.wording import seeds_in_words
from engram.paper.atari100k.games import headed, title_of
from engram.paper.atari100k.run_facts import Facts
from engram.paper.atari100k.standings import Contender, Standings


def in_minutes(seconds: float) -> str:
    """Seconds as minutes."""
    return f"{seconds / 60:.1f}"


def in_megabytes(count: float) -> str:
    """Bytes, in units of a million."""
    return f"{count / 1e6:,.1f} MB"


COSTS: Mapping[str, tuple[str, Callable[[float], str]]] = {  # what it is called → column of the facts, as text
    "processor minutes": ("cpu_seconds", in_minutes),
    "memory": ("memory_bytes", in_megabytes),
    "file": ("model_bytes", in_megabytes),
}
NOTE = (
    "Means over runs; sticky: with sticky actions. Processor time is that of all threads of a run, training and "
    "evaluation, without that of a GPU. Memory: the tables with their keys."
)
FILE = " File: the whole agent as it is saved, with its network and its replay."


@dataclass(frozen=True)
class CostsPart:
    """The costs of all contenders."""

    standings: Standings
    facts: Facts

    def blocks(self) -> list[page.Block]:
        """A row for each contender, and one for each of its games."""
        if not self.facts.table.height:
            return []
        contenders = self.standings.contenders
        whole = [self._row(self.standings.label(each), each, self.standings.played(each)) for each in contenders]
        single = [
            self._row(f"{title_of(game)}, {self.standings.label(each)}", each, [game])
            for each in contenders
            for game in self.standings.played(each)
        ]
        header = ["", *(headed(kind, each) for kind in COSTS for each in self.standings.protocols), "runs"]
        by_game = page.Table(header, single, "What a run takes, game by game").without(NOT_RUN)
        table = page.Table(header, whole, "What a run takes").without(NOT_RUN)
        files = any(name.startswith("file") for name in table.header)
        return [
            replace(table, note=NOTE + FILE * files),
            page.Folded("Game by game", [by_game]),
        ]

    def _row(self, label: str, contender: Contender, games: Sequence[str]) -> list[str | page.Entry]:
        runs = [self.standings.runs(contender, protocol, games) for protocol in self.standings.protocols]
        cells = [self.facts.shown(mine, column, how) for column, how in COSTS.values() for mine in runs]
        return [label, *cells, seeds_in_words({len(mine) for mine in runs if mine})]

    def in_words(self, contender: Contender) -> list[str]:
        """What a run takes on average, in a sentence; nothing where that is not known."""
        games = self.standings.played(contender)
        runs = [run for each in self.standings.protocols for run in self.standings.runs(contender, each, games)]
        seconds, size = (self.facts.mean(runs, column) for column in ("cpu_seconds", "memory_bytes"))
        if seconds is None:
            return []
        memory = "" if size is None else f" and {in_megabytes(size)} of memory"
        return [
            f"A run of {self.standings.label(contender)}, evaluation included, takes {in_minutes(seconds)} minutes of "
            f"processor time{memory} (mean over {len(runs)} runs)."
        ]
