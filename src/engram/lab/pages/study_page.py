"""The report of a study: its tables beside published scores, its figures, and the verdicts on claims."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from engram.agents import label_of
from engram.envs.names import short_name
from engram.files.disk import write_atomically
from engram.lab.cell import Cell
from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.grid import Study, load
from engram.lab.labels import strategy_label
from engram.lab.pages import page
from engram.lab.pages.claims_table import claims_blocks
from engram.lab.pages.figures import Figures
from engram.lab.pages.numbers import score_text
from engram.lab.pages.provenance import how_it_was_made
from engram.lab.pages.report_folder import write_page
from engram.lab.pages.score_tables import Block, Row, absence, entry, legend, score_table, titled
from engram.lab.pages.scores_csv import scores_csv
from engram.lab.pages.style import Look, baseline_looks, looks
from engram.lab.pages.wording import evaluations_in_words, score_in_words
from engram.lab.results import Results
from engram.lab.verdicts import ClaimList, place_label
from engram.runs.finished import LAST_EVALUATIONS

FEW = 10  # missing runs, up to which they are named without being folded away


@dataclass(frozen=True)
class StudyReport:
    """The page of a study, from its results."""

    results: Results
    out: Path  # where files are written
    study: Study = field(default_factory=lambda: Study("", ""))  # its references, its claims, the order of its parts

    @classmethod
    def read(cls, study: Study, folder: Path, out: Path) -> Self:
        """The report on what a folder holds, to be written to `out`."""
        return cls(Results.read(folder), out, study)

    @cached_property
    def evidence(self) -> Evidence:
        """The results, for tables and claims."""
        return Evidence([self.results])

    @cached_property
    def looks(self) -> dict[str, Look]:
        """How strategies and agents without a memory are drawn, by label."""
        cells = self.evidence.steps
        agents = dict.fromkeys(label_of(cell.agent) for cell in cells if cell.strategy is None)
        places = [Cell.of(place) for place in self.results.declared.values()]
        return {**looks(cell.strategy for cell in places if cell.strategy is not None), **baseline_looks(agents)}

    @cached_property
    def runs(self) -> dict[Cell, list[str]]:
        """Ids of the finished runs, by cell, in order of their seeds. Variants of a study are left out."""
        found: dict[Cell, list[str]] = {}
        for row in self.results.runs.filter(pl.col("variant") == "").sort("seed").iter_rows(named=True):
            found.setdefault(Cell.of(row), []).append(row["run"])
        return found

    @cached_property
    def envs(self) -> list[str]:
        """The environments in the order of the study, whatever the order in which they were run."""
        return _in_order(self.study.envs, [place["env"] for place in self.results.declared.values()])

    @cached_property
    def agents(self) -> list[str]:
        """The agents with a memory, in the order of the study."""
        there = [place["agent"] for place in self.results.declared.values() if place["capacity"] is not None]
        return _in_order(self.study.agents, there)

    def blocks(self, env: str) -> list[Block]:
        """The tables of an environment, one for each agent with a memory."""
        found = []
        for agent in self.agents:
            cells = [
                cell
                for cell in (Cell.of(place) for place in self.results.declared.values())
                if cell[:2] == (env, agent) and cell.capacity is not None
            ]
            if cells:
                names = list(dict.fromkeys(str(cell.strategy) for cell in cells))
                sizes_ = sorted({int(cell.capacity) for cell in cells if cell.capacity is not None})
                found.append(Block(self.evidence, env, agent, names, sizes_, self.runs, self.study.references))
        return found

    def where(self, env: str, agent: str) -> str:
        """An agent, and its environment where there are several."""
        return place_label(env, agent) if len(self.envs) > 1 else label_of(agent)

    def write(self) -> Path:
        """Write the page and its parts; return the page's path."""
        self.results.export(self.out)
        table = scores_csv(self.evidence, self.runs, self.study.references)
        write_atomically(self.out / "scores.csv", table.encode())
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
        figures = Figures(self.evidence, blocks, self.looks, self.out, self.study.enlarged)
        parts = {
            "Scores": self.tables(),
            "Variants": self.variant_scores(),
            "Learning curves": figures.curves(),
            "What a larger memory buys": figures.by_size(),
        }
        return [page.Section(title, blocks) for title, blocks in parts.items() if blocks]

    def variant_scores(self) -> list[page.Block]:
        """The scores of runs that differ from the rest of the study, beside those that do not."""
        columns = ["env", "agent", "strategy", "capacity"]
        rows: list[list[str | page.Entry]] = []
        scored = self.results.runs.drop_nulls("score")
        for (env, agent, strategy, capacity, variant), found in scored.filter(pl.col("variant") != "").group_by(
            [*columns, "variant"], maintain_order=True
        ):
            same = [
                pl.col(name).eq_missing(pl.lit(value))
                for name, value in zip(columns, (env, agent, strategy, capacity), strict=True)
            ]
            plain = scored.filter(pl.col("variant") == "", *same)
            memory = [] if capacity is None else [strategy_label(str(strategy)), f"{capacity:,}"]
            texts = [score_text(each["score"].to_numpy()) if each.height else "–" for each in (found, plain)]
            rows.append([", ".join([place_label(str(env), str(agent)), *memory]), str(variant), texts[0], texts[1]])
        return [page.Table(["cell", "what differs", "score", "without it"], rows)] if rows else []

    def warnings(self) -> list[page.Block]:
        """Runs that are missing, runs that should not be in one cell, and runs of an earlier version of the study."""
        missing, texts = self.results.missing, []
        if missing:
            texts.append(f"{len(missing)} of {len(self.results.declared)} runs are missing, and their cells say so.")
        for cell, runs in self.runs.items():
            places = [self.results.declared[run_id] for run_id in runs]
            kinds = {
                (place["steps"], evaluations_in_words([place]), str(place.get("settings", {}))) for place in places
            }
            if len(kinds) > 1:
                memory = [] if cell.strategy is None else [strategy_label(cell.strategy), str(cell.capacity)]
                parts = (self.where(cell.env, cell.agent), *memory)
                texts.append(f"{', '.join(parts)}: its runs differ in more than their seed, so it means nothing.")
        names = page.Names(missing)
        shown = names if len(missing) <= FEW else page.Folded("Which runs are missing", [names])
        warned = [page.Warnings(texts)] if texts else []
        return [*warned, *([shown] if missing else []), *self.earlier()]

    def earlier(self) -> list[page.Block]:
        """Runs in the study's folder that are not of the study as it is now, and what was done with them."""
        replaced, kept = self.results.earlier.replaced, self.results.earlier.kept
        if not replaced and not kept:
            return []
        texts = [
            f"Some runs in the folder ({len(replaced) + len(kept)}) are not of the study as it was last started: its "
            "file was changed, or its options were others. To keep versions apart, give the study another name, or "
            "another folder with --out.",
            *([f"Left out, as their cells have other runs now: {len(replaced)}."] if replaced else []),
            *([f"Shown below all the same: {len(kept)}."] if kept else []),
        ]
        listed = {"Which runs are left out": replaced, "Which runs of earlier are shown": kept}
        folded = [page.Folded(title, [page.Names(names)]) for title, names in listed.items() if names]
        return [page.Warnings(texts), *folded]

    @cached_property
    def evaluation(self) -> str:
        """How the runs were evaluated. Variants of a study are left out."""
        done = {run_id for runs in self.runs.values() for run_id in runs}
        return evaluations_in_words(place for run_id, place in self.results.declared.items() if run_id in done)

    @property
    def protocol(self) -> str:
        """What a score is, and how runs were evaluated."""
        plain = self.results.evaluations.filter(pl.col("variant") == "")
        return f"{score_in_words(plain.group_by('run').len()['len'].to_list())} {self.evaluation}".rstrip()

    def summary(self) -> list[str]:
        """The number of runs, the protocol, and the best strategies, in sentences."""
        runs = self.results.runs
        seeds = ", ".join(map(str, sorted(runs["seed"].unique().to_list())))
        sentences = [f"{runs.height} runs from seeds {seeds}. {self.protocol}"]
        for env in self.envs:
            for block in self.blocks(env):
                sizes_ = [size for size in block.sizes if block.filled(size)]
                firsts = {name: [size for size in sizes_ if name in block.best(size)] for name in block.strategies}
                parts = [f"{strategy_label(name)} at {_listed(where)}" for name, where in firsts.items() if where]
                if parts:
                    where = self.where(env, block.agent)
                    sentences.append(f"{where}, highest mean score by entries per action: {'; '.join(parts)}.")
        return sentences

    def claims(self) -> list[page.Block]:
        """The verdicts on the claims that this study can decide."""
        if not self.study.claims:
            return []
        every: ClaimList = load(self.study.claims)
        mine = [claim for claim in every.claims if self.study.name in claim.studies]
        if not mine:
            return []
        blocks = claims_blocks(replace(every, claims=tuple(mine)), self.evidence)
        wider = [claim for claim in mine if len(claim.studies) > 1]
        if wider:
            studies = dict.fromkeys(name for claim in wider for name in claim.studies)
            numbers, folders = (", ".join(str(claim.number) for claim in wider), " ".join(f"runs/{n}" for n in studies))
            text = f"Decided here from one study of several: {numbers}. From all of them: engram claims {folders}"
            blocks.append(page.Text(text, note=True))
        return [page.Section(every.title, [*blocks, *self._shorter_training()])]

    def _shorter_training(self) -> list[page.Block]:
        """A note where training was shorter than in the runs that the claims are about."""
        if not self.study.references:
            return []
        first = self.study.references[0]
        pairs = {
            (steps, first.scores[cell].steps) for cell, steps in self.evidence.steps.items() if cell in first.scores
        }
        shorter = sorted((max(ours), theirs) for ours, theirs in pairs if max(ours) < theirs)
        parts = "; ".join(f"{ours:,} training steps instead of {theirs:,}" for ours, theirs in shorter)
        text = f"Decided here from runs shorter than {first.name}'s: {parts}."
        return [page.Text(text, note=True)] if shorter else []

    def tables(self) -> list[page.Block]:
        """Scores beside the published ones, intervals, and comparisons of strategies."""
        blocks = {
            agent: [b for env in self.envs for b in self.blocks(env) if b.agent == agent] for agent in self.agents
        }
        tables = [score_table(mine, label_of(agent)) for agent, mine in blocks.items() if mine]
        tables += [
            self._baseline(agent) for agent in dict.fromkeys(a for e in self.envs for a in self.evidence.baselines(e))
        ]
        details = [table for mine in blocks.values() for block in mine for table in self._details(block)]
        folded = [page.Folded("Intervals, comparisons, training episodes", details)] if details else []
        return [*tables, page.Text(legend(self.evidence, self.study.references), note=True), *folded]

    def _baseline(self, agent: str) -> page.Table:
        """The scores of an agent without a memory, one row for each environment."""
        cells = [cell for env in self.envs if (cell := Cell(env, agent, None, None)) in self.evidence.steps]
        references = self.study.references
        rows = [
            Row([short_name(cell.env)], [cell], [entry(self.evidence, cell, self.runs.get(cell, ()), references)])
            for cell in cells
        ]
        return titled(self.evidence, label_of(agent), ["environment", "score"], rows, references)

    def _details(self, block: Block) -> list[page.Block]:
        """Intervals, comparisons and training episodes: details of the scores, folded away on the page."""
        if not block.complete():
            return []
        name = self.where(block.env, block.agent)
        found: list[page.Block] = [block.intervals(f"{name}: interquartile mean [95 % interval]")]
        improvements = block.improvements(f"{name}: probability that a run of the row scores above one of the column")
        return [*found, *([] if improvements is None else [improvements]), self._late_training(block)]

    def training_text(self, runs: Iterable[str], digits: int) -> str:
        """Mean ± standard deviation over runs of the returns of their training episodes, over the time of the score.

        Between two evaluations there are few long episodes or many short ones: each episode counts once.
        """
        frame, means = self.results.evaluations, []
        for run in runs:
            last = frame.filter(frame["run"] == run).tail(LAST_EVALUATIONS).drop_nulls("training_return")
            if last.height:
                means.append(
                    np.average(last["training_return"].to_numpy(), weights=last["training_episodes"].to_numpy())
                )
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
        return page.Table(["entries per action", *block.labels], rows, caption)


def _in_order(known: Sequence[str], found: Iterable[str]) -> list[str]:
    """What was found, each once: first what is known, in that order, then the rest."""
    there = dict.fromkeys(found)
    return [each for each in known if each in there] + [each for each in there if each not in known]


def _listed(sizes: Sequence[int]) -> str:
    *first, last = (f"{size:,}" for size in sizes)
    return f"{', '.join(first)} and {last}" if first else last
