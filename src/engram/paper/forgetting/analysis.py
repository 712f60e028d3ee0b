"""How should clusters forget? Every setting against LRU, kM and the paper's DkM, cell by cell.

A setting is *worse* in a cell (an environment, an agent, a memory size) if the 95 % Welch interval of its mean score
lies below that of LRU, kM or DkM, and *better* if it lies above that of at least one of them and it is worse than none.
It is chosen if it is worse in the fewest cells; between equals, the one that most often scores above the three. It is
called at least as good nearly everywhere if it is not worse in nine cells of ten. A choice is confirmed on seeds that
played no part in it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from engram.agents import label_of
from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.improvement import probability_of_improvement
from engram.lab.labels import strategy_in_words, strategy_label
from engram.lab.pages import page
from engram.lab.pages.differences import Dot, Panel, differences_figure
from engram.lab.pages.finding import Finding, find
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.wording import counted, listed, number_in_words, seeds_in_words, sentence, worth_in_words
from engram.lab.statistics import FEWEST, Interval, difference

RIVALS = ("lru", "kmeans", "dkm")
STUDY_SEEDS = range(10)  # with which a setting was chosen; others played no part in it
CHOSEN = "It was chosen on these seeds, which flatters it: fresh ones are in forgetting-confirmed."
FRESH = "None of these seeds played a part in choosing it."
NEARLY_EVERYWHERE = 0.9  # of the cells


@dataclass(frozen=True)
class Record:
    """How one setting compares with LRU, kM and DkM."""

    setting: str
    cells: int
    worse: tuple[Cell, ...]
    better: tuple[Cell, ...]
    gaps: Mapping[str, Mapping[Cell, Interval]]  # by rival and cell, how far it is above that one
    above: float  # probability that one of its runs scores above one of LRU, kM or DkM, mean over cells

    @property
    def beaten(self) -> dict[str, list[Cell]]:
        """By rival, the cells in which it is above that one."""
        return {name: [cell for cell, gap in found.items() if gap.above(0)] for name, found in self.gaps.items()}

    @property
    def nearly_everywhere(self) -> bool:
        """Whether it is at least as good as the three nearly everywhere."""
        return self.cells > 0 and self.cells - len(self.worse) >= NEARLY_EVERYWHERE * self.cells


def record(evidence: Evidence, setting: str, cells: Sequence[tuple[str, str, int]]) -> Record:
    """Compare a setting with the three in every cell in which all have three runs and a table filled."""
    worse, better, above = [], [], []
    every: dict[str, dict[Cell, Interval]] = {name: {} for name in RIVALS if name != setting}
    compared = 0
    for env, agent, size in cells:
        ours = evidence.scores(env, agent, setting, size)
        theirs = {name: evidence.scores(env, agent, name, size) for name in RIVALS if name != setting}
        there = [scores for scores in theirs.values() if scores is not None]
        if ours is None or len(there) < len(theirs) or not evidence.filled(env, agent, size):
            continue
        if min(map(len, (ours, *there))) < FEWEST:
            continue
        compared += 1
        gaps = [difference(ours, scores) for scores in there]
        cell = Cell(env, agent, setting, size)
        for name, gap in zip(theirs, gaps, strict=True):
            every[name][cell] = gap
        if any(gap.below(0) for gap in gaps):
            worse.append(cell)
        elif any(gap.above(0) for gap in gaps):
            better.append(cell)
        above.append(float(np.mean([probability_of_improvement([ours], [scores]) for scores in there])))
    return Record(
        setting,
        compared,
        tuple(worse),
        tuple(better),
        every,
        float(np.mean(above)) if above else float("nan"),
    )


def ranked(records: Sequence[Record]) -> list[Record]:
    """The records from the chosen setting to the last; settings without a cell to compare come at the end."""
    return sorted(records, key=lambda each: (each.cells == 0, len(each.worse), -each.above))


class ForgettingReport(StudyReport):
    """The report of a study of many settings."""

    @cached_property
    def records(self) -> list[Record]:
        """How the settings compare, the chosen one first."""
        settings = dict.fromkeys(name for block in self.every_block for name in block.strategies)
        cells = [(block.env, block.agent, size) for block in self.every_block for size in block.sizes]
        return ranked([record(self.evidence, name, cells) for name in settings])

    @property
    def _chosen_here(self) -> bool:
        """Whether these are runs from which a setting was chosen."""
        return bool(self.results.runs["seed"].min() in STUDY_SEEDS) if self.results.runs.height else True

    @property
    def title(self) -> str:
        """The page's title; fresh seeds are told."""
        return super().title if self._chosen_here else f"{super().title} Confirmed on fresh seeds"

    @cached_property
    def found(self) -> Finding:
        """Which setting is worse in the fewest cells, and where it is better."""
        best = self.records[0] if self.records else None
        if best is None or not best.cells:
            return Finding("No cell has enough runs of LRU, kM, DkM and another setting to compare them.")
        cells = counted(best.cells, "cell")
        (first, where), *others = [(strategy_label(rival), where) for rival, where in best.beaten.items()]
        wins = [
            f"above {first} in {number_in_words(len(where))} of {cells}",
            *(f"above {rival} in {number_in_words(len(where))}" for rival, where in others),
        ]
        worse = number_in_words(len(best.worse)) if best.worse else "none"
        short = f"{strategy_in_words(best.setting)} scores {listed(wins)}, and below one of them in {worse}"
        named = f" ({self._where(best.worse)})" if best.worse else ""
        headline = f"{short}{named}. A cell is an environment, an agent and a memory size"
        details = [
            "Each cell is compared by itself at 95 %, so some differ by chance. "
            f"{strategy_label(best.setting)} is worse than LRU, kM or DkM in the fewest cells of "
            f"{counted(len(self.records), 'setting')}, which is the rule by which it comes first. "
            + (CHOSEN if self._chosen_here else FRESH),
            *(
                sentence(f"{strategy_label(best.setting)} is above {strategy_label(rival)} in {self._counted(where)}")
                for rival, where in best.beaten.items()
            ),
        ]
        same = self._cells_alike()
        if same:
            details.append(
                sentence(
                    f"in {number_in_words(len(same))} of the {cells} every run of every setting scores the same, so "
                    f"nothing can be told there: {self._where(same)}"
                )
            )
        return Finding(sentence(headline), details, short=sentence(short))

    def first_figure(self) -> list[page.Block]:
        """The differences that are counted; folded, the strategies' scores over all sizes."""
        best = self.records[0] if self.records else None
        if best is None or not best.cells:
            return []
        panels = dict[str, Panel]()
        digits = {(block.env, block.agent): block.digits for block in self.every_block}
        for rival, gaps in best.gaps.items():
            for cell, gap in gaps.items():
                where = self.evidence.place(cell.env, cell.agent)
                panel = panels.setdefault(where, Panel(where, digits[cell.env, cell.agent], []))
                panel.dots.append(Dot(f"less {strategy_label(rival)}", f"{cell.capacity:,}", gap))
        name = strategy_label(best.setting)
        seeds = {n for block in self.every_block for n in block.seeds}
        caption = (
            f"Mean score of {name} less that of each rival, {seeds_in_words(seeds)}: right of the broken line {name} "
            "scores higher. Each sign is a cell, and the title of its panel says of how many entries per action; where "
            "no table filled there is none. Lines: the 95 % interval of each difference "
            f"by itself (Welch). Orange: it does not hold 0, which is what is counted above. {worth_in_words(seeds)}"
        )
        drawn = differences_figure(list(panels.values()), f"{name}'s mean score less the other's")
        overall = find(self.every_block, self.study.tasks)
        means = [page.Text(overall.headline), *self.figures.finding(overall.headline, overall.rule)]
        return [
            write_figure(drawn, self.out, "differences", caption.rstrip(), self.finding, across=1),
            page.Folded("The scores of all sizes together", means),
        ]

    def details(self) -> list[page.Block]:
        """How the setting came first; folded, which cells are counted."""
        if not self.found.details:
            return []
        rule, *where = map(page.Text, self.found.details)
        return [rule, page.Folded("In which cells", where)]

    def _counted(self, cells: Sequence[Cell]) -> str:
        return f"{counted(len(cells), 'cell')}: {self._where(cells)}" if cells else "no cell"

    def _cells_alike(self) -> list[Cell]:
        """The cells at which tables filled and every run of every setting has the same score."""
        found = []
        for block in self.every_block:
            for size in block.filled_sizes:
                scores = [by_size[size] for by_size in block.complete.values() if size in by_size]
                if scores and np.ptp(np.concatenate(scores)) == 0:
                    found.append(block.cell("", size))
        return found

    def claims(self) -> list[page.Block]:
        """The table that ranks the settings by the rule above."""
        settings = list(dict.fromkeys(name for block in self.every_block for name in block.strategies))
        rows: list[list[str | page.Entry]] = []
        for each in self.records:
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
            "that a run scores above one of the three (for each of these: of the other two), mean over cells. Nearly "
            "everywhere: not worse in nine cells of ten. Settings are in the order of the rule: fewest cells in which "
            "it is worse, then P(above). The rule was written down before the study was run. "
            f"Seeds of a cell: {self._seeds()}."
        )
        table = page.Table(header, rows, prose=True, note=note)
        return [
            page.Section("Which setting is at least as good as LRU, kM and DkM?", [table, *self._by_agent(settings)])
        ]

    def _seeds(self) -> str:
        """How many seeds each agent has."""
        agents = {
            agent: {n for block in self.every_block if block.agent == agent for n in block.seeds}
            for agent in self.agents
        }
        return ", ".join(f"{label_of(agent)} {seeds_in_words(counts)}" for agent, counts in agents.items() if counts)

    def _where(self, cells: Sequence[Cell]) -> str:
        groups: dict[tuple[str, str], list[str]] = {}
        for cell in cells:
            groups.setdefault((cell.env, cell.agent), []).append(f"{cell.capacity:,}")
        return "; ".join(
            f"{self.evidence.env_names[env]} {label_of(agent)} {', '.join(sizes)}"
            for (env, agent), sizes in groups.items()
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
        header = ["P(above)", *(self.evidence.place(env, agent) for env, agent in places)]
        return [page.Table(header, rows)]
