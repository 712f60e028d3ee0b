"""How should clusters forget? Every setting against LRU, kM and the paper's DkM, cell by cell.

A setting is *worse* in a cell (an environment, an agent, a memory size) if the 95 % Welch interval of its mean score
lies below that of LRU, kM or DkM, and *better* if it lies above that of at least one of them and it is worse than none.
It is chosen if it is worse in the fewest cells; between equals, the one that most often scores above the three. It is
called at least as good nearly everywhere if it is not worse in nine cells of ten. A choice is confirmed on seeds that
played no part in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from engram.agents import label_of
from engram.envs.names import short_name
from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.pages import page
from engram.lab.pages.study_page import StudyReport
from engram.lab.statistics import FEWEST, difference, probability_of_improvement
from engram.lab.verdicts import place_label

RIVALS = ("lru", "kmeans", "dkm")
NEARLY_EVERYWHERE = 0.9  # of the cells


@dataclass(frozen=True)
class Record:
    """How one setting compares with LRU, kM and DkM."""

    setting: str
    cells: int
    worse: tuple[Cell, ...]
    better: tuple[Cell, ...]
    above: float  # probability that one of its runs scores above one of LRU, kM or DkM, mean over cells

    @property
    def nearly_everywhere(self) -> bool:
        """Whether it is at least as good as the three nearly everywhere."""
        return self.cells > 0 and self.cells - len(self.worse) >= NEARLY_EVERYWHERE * self.cells


def record(evidence: Evidence, setting: str, cells: Sequence[tuple[str, str, int]]) -> Record:
    """Compare a setting with the three in every cell in which all have three runs and a table filled."""
    worse, better, above = [], [], []
    counted = 0
    for env, agent, size in cells:
        ours = evidence.scores(env, agent, setting, size)
        theirs = {name: evidence.scores(env, agent, name, size) for name in RIVALS if name != setting}
        there = [scores for scores in theirs.values() if scores is not None]
        if ours is None or len(there) < len(theirs) or not evidence.filled(env, agent, size):
            continue
        if min(map(len, (ours, *there))) < FEWEST:
            continue
        counted += 1
        gaps = [difference(ours, scores) for scores in there]
        cell = Cell(env, agent, setting, size)
        if any(gap.below(0) for gap in gaps):
            worse.append(cell)
        elif any(gap.above(0) for gap in gaps):
            better.append(cell)
        above.append(float(np.mean([probability_of_improvement([ours], [scores]) for scores in there])))
    return Record(setting, counted, tuple(worse), tuple(better), float(np.mean(above)) if above else float("nan"))


def ranked(records: Sequence[Record]) -> list[Record]:
    """The records from the chosen setting to the last; settings without a cell to compare come at the end."""
    return sorted(records, key=lambda each: (each.cells == 0, len(each.worse), -each.above))


class ForgettingReport(StudyReport):
    """The report of a study of many settings."""

    def claims(self) -> list[page.Block]:
        """The table that ranks the settings by the rule above."""
        settings = list(
            dict.fromkeys(name for env in self.envs for block in self.blocks(env) for name in block.strategies)
        )
        cells = [(env, block.agent, size) for env in self.envs for block in self.blocks(env) for size in block.sizes]
        records = ranked([record(self.evidence, name, cells) for name in settings])
        rows: list[list[str | page.Entry]] = []
        for each in records:
            worse = self._where(each.worse)
            rows.append(
                [
                    strategy_label(each.setting),
                    f"{len(each.worse)} of {each.cells}",
                    f"{len(each.better)} of {each.cells}",
                    f"{each.above:.2f}" if each.cells else "–",
                    "yes" if each.nearly_everywhere else "no",
                    worse or "nowhere",
                ]
            )
        header = ["setting", "worse in", "better in", "P(above)", "nearly everywhere", "worse where"]
        note = (
            "Worse: the 95 % interval of the difference to LRU, kM or DkM (with the paper's decay of 1) lies below 0 "
            "in that cell. Better: above 0 for at least one of the three, and worse than none. P(above): probability "
            "that a run scores above one of the three, mean over cells. Nearly everywhere: not worse in nine cells of "
            "ten. Settings are in the order of the rule: fewest cells in which it is worse, then P(above). The rule "
            "was written down before the study was run."
        )
        table = page.Table(header, rows, prose=True, note=note)
        return [
            page.Section("Which setting is at least as good as LRU, kM and DkM?", [table, *self._by_agent(settings)])
        ]

    def _where(self, cells: Sequence[Cell]) -> str:
        groups: dict[tuple[str, str], list[str]] = {}
        for cell in cells:
            groups.setdefault((cell.env, cell.agent), []).append(f"{cell.capacity:,}")
        return "; ".join(
            f"{short_name(env)} {label_of(agent)} {', '.join(sizes)}" for (env, agent), sizes in groups.items()
        )

    def _by_agent(self, settings: Sequence[str]) -> list[page.Block]:
        """P(above) for each environment and agent."""
        places = [(env, agent) for env, agent in product(self.envs, self.agents)]
        rows = []
        for setting in settings:
            row = [strategy_label(setting)]
            for env, agent in places:
                sizes = [size for block in self.blocks(env) if block.agent == agent for size in block.sizes]
                found = record(self.evidence, setting, [(env, agent, size) for size in sizes])
                row.append(f"{found.above:.2f}" if found.cells else "–")
            rows.append(row)
        header = ["P(above)", *(place_label(env, agent) for env, agent in places)]
        return [page.Table(header, rows)]
