"""The report of a study of the paper: its tables beside the paper's, its figures, what its claims came to."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from engram.agents import label_of
from engram.files.disk import write_atomically
from engram.lab.claims import name_of
from engram.lab.evidence import Cell
from engram.lab.pages import page
from engram.lab.pages.cells import scores_csv
from engram.lab.pages.figures import Figures
from engram.lab.pages.provenance import how_it_was_made
from engram.lab.pages.report_folder import write_page
from engram.lab.pages.style import D3QN, Look, label, looks
from engram.lab.pages.tables import Block, Row, absence, entry, legend, score_table, score_text, titled
from engram.lab.pages.wording import evaluations_in_words, score_in_words
from engram.lab.results import Results
from engram.paper.claims import CLAIMS, Evidence
from engram.paper.published import PAPER
from engram.paper.studies import STUDIES
from engram.paper.verdicts import claims_blocks
from engram.runs.folder import LAST_EVALUATIONS

EPISODIC = ("mfec", "nec")
FEW = 10  # missing runs that are named at once


@dataclass(frozen=True)
class StudyReport:
    """Everything that is said about a study."""

    results: Results
    out: Path  # where files go

    @cached_property
    def evidence(self) -> Evidence:
        """The results, for tables and claims."""
        return Evidence([self.results])

    @cached_property
    def looks(self) -> dict[str, Look]:
        """How strategies are drawn."""
        described = [place["strategy"] for place in self.results.declared.values() if place["strategy"] is not None]
        return {**looks(described), "D3QN": D3QN}

    @cached_property
    def runs(self) -> dict[Cell, list[str]]:
        """Ids of the finished runs, by cell, in order of their seeds. Variants of a study are left out."""
        found: dict[Cell, list[str]] = {}
        for row in self.results.runs.filter(pl.col("variant") == "").sort("seed").iter_rows(named=True):
            found.setdefault(Cell(row["env"], row["agent"], row["strategy"], row["capacity"]), []).append(row["run"])
        return found

    @cached_property
    def envs(self) -> list[str]:
        """In the order of the study, in whatever order they were asked for."""
        there = dict.fromkeys(place["env"] for place in self.results.declared.values())
        study = STUDIES.get(self.results.study)
        known = dict.fromkeys(grid.env for grid in study.grids) if study else {}
        return [env for env in known if env in there] + [env for env in there if env not in known]

    def blocks(self, env: str) -> list[Block]:
        """The tables of an environment, one per episodic agent."""
        found = []
        for agent in EPISODIC:
            places = [
                place for place in self.results.declared.values() if (place["env"], place["agent"]) == (env, agent)
            ]
            if places:
                names = list(dict.fromkeys(label(place["strategy"]) for place in places))
                sizes_ = sorted({int(place["capacity"]) for place in places})
                found.append(Block(self.evidence, env, agent, names, sizes_, self.runs))
        return found

    def where(self, env: str, agent: str) -> str:
        """An agent, and its environment where there are several."""
        return f"{name_of(env)}, {label_of(agent)}" if len(self.envs) > 1 else label_of(agent)

    def write(self) -> Path:
        """Write the page and its parts; return the page's path."""
        self.results.export(self.out)
        write_atomically(self.out / "scores.csv", scores_csv(self.evidence, self.runs).encode())
        return write_page(page.Page(self.results.title, self.content()), self.out)

    def content(self) -> list[page.Block]:
        """The page from top to bottom."""
        return [
            *self.warnings(),
            *(page.Text(text) for text in self.summary()),
            *self.claims(),
            *self.sections(),
            how_it_was_made(self.results, self.evaluation),
        ]

    def sections(self) -> list[page.Block]:
        """Tables and figures of all environments."""
        blocks = [block for env in self.envs for block in self.blocks(env)]
        figures = Figures(self.evidence, blocks, self.looks, self.out)
        parts = {
            "Scores": self.tables(),
            "Learning curves": figures.curves(),
            "What a larger memory buys": figures.by_size(),
        }
        return [page.Section(title, blocks) for title, blocks in parts.items() if blocks]

    def warnings(self) -> list[page.Block]:
        """Runs that are missing, and runs that should not be in one cell."""
        missing, texts = self.results.missing, []
        if missing:
            texts.append(f"{len(missing)} of {len(self.results.declared)} runs are missing, and their cells say so.")
        for cell, runs in self.runs.items():
            places = [self.results.declared[run_id] for run_id in runs]
            if len({(place["steps"], evaluations_in_words([place])) for place in places}) > 1:
                parts = (self.where(cell.env, cell.agent), *(str(part) for part in cell[2:] if part is not None))
                texts.append(f"{', '.join(parts)}: its runs differ in more than their seed, so it means nothing.")
        names = page.Names(missing)
        shown = names if len(missing) <= FEW else page.Folded("Which runs are missing", [names])
        return [*([page.Warnings(texts)] if texts else []), *([shown] if missing else [])]

    @cached_property
    def evaluation(self) -> str:
        """How the runs were evaluated. Variants of a study are left out."""
        done = {run_id for runs in self.runs.values() for run_id in runs}
        return evaluations_in_words(place for run_id, place in self.results.declared.items() if run_id in done)

    @property
    def protocol(self) -> str:
        """What a score is."""
        plain = self.results.evaluations.filter(pl.col("variant") == "")
        return f"{score_in_words(plain.group_by('run').len()['len'].to_list())} {self.evaluation}".rstrip()

    def summary(self) -> list[str]:
        """What came out, in sentences."""
        runs = self.results.runs
        seeds = ", ".join(map(str, sorted(runs["seed"].unique().to_list())))
        sentences = [f"{runs.height} runs from seeds {seeds}. {self.protocol}"]
        for env in self.envs:
            for block in self.blocks(env):
                sizes_ = [size for size in block.sizes if block.filled(size)]
                firsts = {name: [size for size in sizes_ if name in block.best(size)] for name in block.strategies}
                told = [f"{name} at {_listed(where)}" for name, where in firsts.items() if where]
                if told:
                    where = self.where(env, block.agent)
                    sentences.append(f"{where}, highest mean score by entries per action: {'; '.join(told)}.")
        return sentences

    def claims(self) -> list[page.Block]:
        """What became of the claims that this study can decide."""
        mine = [claim for claim in CLAIMS if self.results.study in claim.studies]
        if not mine:
            return []
        blocks = claims_blocks(mine, self.evidence)
        wider = [claim for claim in mine if len(claim.studies) > 1]
        if wider:
            studies = dict.fromkeys(name for claim in wider for name in claim.studies)
            numbers, folders = (", ".join(str(claim.number) for claim in wider), " ".join(f"runs/{n}" for n in studies))
            text = f"Decided here from one study of several: {numbers}. From all of them: engram claims {folders}"
            blocks.append(page.Text(text, note=True))
        pairs = {(steps, PAPER[cell].steps) for cell, steps in self.evidence.steps.items() if cell in PAPER}
        if shorter := sorted((max(ours), theirs) for ours, theirs in pairs if max(ours) < theirs):
            told = "; ".join(f"{ours:,} training steps instead of {theirs:,}" for ours, theirs in shorter)
            blocks.append(page.Text(f"Decided here from runs shorter than the paper's: {told}.", note=True))
        return [page.Section("The paper's claims", blocks)]

    def tables(self) -> list[page.Block]:
        """Ours beside theirs, intervals, and who beats whom."""
        blocks = {agent: [b for env in self.envs for b in self.blocks(env) if b.agent == agent] for agent in EPISODIC}
        tables = [score_table(mine, label_of(agent)) for agent, mine in blocks.items() if mine]
        cells = [cell for env in self.envs if (cell := Cell(env, "d3qn", None, None)) in self.evidence.steps]
        rows = [
            Row([name_of(cell.env)], [cell], [entry(self.evidence, cell, self.runs.get(cell, ()))]) for cell in cells
        ]
        tables += [titled(self.evidence, "D3QN", ["environment", "score"], rows)] if rows else []
        details = [table for mine in blocks.values() for block in mine for table in self._details(block)]
        folded = [page.Folded("Intervals, comparisons, training episodes", details)] if details else []
        return [*tables, page.Text(legend(self.evidence), note=True), *folded]

    def _details(self, block: Block) -> list[page.Block]:
        """What only some readers want to know of the scores."""
        if not block.there():
            return []
        name = self.where(block.env, block.agent)
        found: list[page.Block] = [block.intervals(f"{name}: interquartile mean [95 % stratified bootstrap interval]")]
        improvements = block.improvements(f"{name}: probability that a run of the row scores above one of the column")
        return [*found, *([] if improvements is None else [improvements]), self._late_training(block)]

    def training_text(self, runs: Iterable[str], digits: int) -> str:
        """Mean ± standard deviation over runs of the returns of their training episodes, over the time of the score."""
        frame, means = self.results.evaluations, []
        for run in runs:
            last = frame.filter(frame["run"] == run).tail(LAST_EVALUATIONS)["training_return"].drop_nulls()
            means += [last.mean()] if len(last) else []
        return score_text(np.array(means), digits) if means else "–"

    def _late_training(self, block: Block) -> page.Table:
        """Returns of the episodes of training, which explore, beside the greedy ones of evaluations."""
        rows: list[list[str]] = []
        for size in block.sizes:
            row = [f"{size:,}"]
            for name in block.strategies:
                cell = block.cell(name, size)
                if block.scores(name, size) is None:
                    row.append(absence(self.evidence, cell))
                else:
                    row.append(self.training_text(self.runs.get(cell, ()), block.digits))
            rows.append(row)
        name = self.where(block.env, block.agent)
        caption = f"{name}: mean return of training episodes (ε-greedy) over the same time as the score"
        return page.Table(["entries per action", *block.strategies], rows, caption)


def _listed(sizes: Sequence[int]) -> str:
    *first, last = (f"{size:,}" for size in sizes)
    return f"{', '.join(first)} and {last}" if first else last
