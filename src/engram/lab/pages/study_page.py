"""The report of a study: its finding, scores, verdicts on claims, learning curves, and how it was made."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from engram.agents import label_of
from engram.files.disk import write_atomically
from engram.lab.cell import Cell
from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.grid import Study, load
from engram.lab.labels import strategy_label
from engram.lab.pages import page
from engram.lab.pages.block import Block
from engram.lab.pages.claims_table import claims_blocks
from engram.lab.pages.doubtful_runs import doubtful_runs
from engram.lab.pages.featured import Featured
from engram.lab.pages.figures import Figures
from engram.lab.pages.finding import Finding, find
from engram.lab.pages.held import held_blocks
from engram.lab.pages.links import FilesBeside, HomeNote
from engram.lab.pages.provenance import how_it_was_made
from engram.lab.pages.report_folder import write_figure, write_page
from engram.lab.pages.score_tables import Row, entry, improvement_table, interval_table, legend, score_table, titled
from engram.lab.pages.scores_csv import scores_csv
from engram.lab.pages.style import Look, baseline_looks, looks
from engram.lab.pages.training_table import training_table
from engram.lab.pages.variants import Variants, find_variants
from engram.lab.pages.wording import (
    counted,
    evaluations_in_words,
    listed,
    number_in_words,
    score_in_words,
    seeds_in_words,
    sentence,
)
from engram.lab.results import Results
from engram.lab.verdicts import ClaimList

FEW_DETAILS = 4  # sentences, up to which they are not folded away
MOST_NAMED = 6  # of a kind of thing; more are counted
DATA = {  # files beside the page; evaluations.csv holds what evaluations.parquet does, and is not kept in repositories
    "evaluations.parquet": "with a row for every evaluation",
    "scores.csv": "with a row for every cell",
    "study.json": "with every run",
    "calls.jsonl": "with the commands, machine and versions",
}


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

    @cached_property
    def every_block(self) -> list[Block]:
        """The tables of all environments, one for each agent with a memory."""
        return [block for env in self.envs for block in self.blocks(env)]

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

    @cached_property
    def figures(self) -> Figures:
        """What draws the figures."""
        return Figures(self.evidence, self.every_block, self.looks, self.out, self.featured, self.study.enlarged)

    @cached_property
    def featured(self) -> Featured:
        """Which strategies are shown first."""
        return Featured.of(self.every_block)

    @cached_property
    def found(self) -> Finding:
        """What the study found."""
        strategies = find(self.every_block, self.study.tasks)
        if not self.variants.every:
            return strategies
        return Finding(
            self.variants.in_words(), (strategies.headline, *strategies.details), short=self.variants.in_short()
        )

    @cached_property
    def variants(self) -> Variants:
        """What runs that differ from the rest of the study come to."""
        digits = {(block.env, block.agent): block.digits for block in self.every_block}
        return Variants(find_variants(self.results), digits, self.evidence.place)

    @property
    def title(self) -> str:
        """The page's title."""
        return self.study.title or self.results.title

    @property
    def finding(self) -> str:
        """What the study found, in one sentence."""
        return self.found.headline

    def where(self, env: str, agent: str) -> str:
        """An agent, and its environment where there are several."""
        return self.evidence.place(env, agent) if len(self.envs) > 1 else label_of(agent)

    def write(self) -> Path:
        """Write the page and its parts; return the page's path."""
        self.export()
        table = scores_csv(self.evidence, self.runs, self.study.references)
        write_atomically(self.out / "scores.csv", table.encode())
        return write_page(page.Page(self.title, self.content()), self.out)

    def export(self) -> None:
        """Write what the page can be made from again."""
        self.results.export(self.out)

    def content(self) -> list[page.Block]:
        """The page from top to bottom, in the order in which a reader asks."""
        return [
            *self.warnings(),
            page.Finding(self.finding, self.found.short if self.found.short != self.finding else ""),
            *self.first_figure(),
            *self.details(),
            *(page.Text(text) for text in self.summary()),
            *self.sections(),
            how_it_was_made(self.results, self.evaluation, self.evidence.env_names),
            FilesBeside.there(self.out, self._data(), "and the figures as SVG and PNG in the folder figures"),
        ]

    def _data(self) -> dict[str, str]:
        """The files of data, and what they hold."""
        varied = any(place["variant"] for place in self.results.declared.values())
        return DATA | ({"scores.csv": "with a row for every cell without a variant"} if varied else {})

    def first_figure(self) -> list[page.Block]:
        """The figure that shows the finding: of variants what each changes, and then that of the strategies."""
        if not self.variants.every:
            return self.figures.finding(self.finding, self.found.rule)
        strategies, variants = self.found.details[0], self.variants
        return [
            write_figure(variants.figure(), self.out, "variants", f"{variants.caption()}", self.finding),
            page.Folded("Every difference in numbers", [variants.table()]),
            page.Text(f"What follows is of runs without any of these changes. {strategies}"),
            *self.figures.finding(strategies, self.found.rule),
        ]

    def details(self) -> list[page.Block]:
        """The finding in more detail; folded where there is much of it."""
        texts: list[page.Block] = [page.Text(text) for text in self.found.details[1 if self.variants.every else 0 :]]
        return [page.Folded("In each environment, with each agent", texts)] if len(texts) > FEW_DETAILS else texts

    def sections(self) -> list[page.Block]:
        """Figures, tables and claims, of all environments."""
        beside = f"Scores beside {self.study.references[0].name}'s" if self.study.references else "Scores"
        return [
            *_section("Scores by memory size", self.figures.by_size()),
            *_section(beside, self.tables()),
            *self.claims(),
            *_section("Learning curves", self.figures.curves()),
            *_section("What the memories hold", held_blocks(self.results.folder, self.out)),
            *_section("How much memory a score needs", self.figures.needed()),
            *_section("Training beside evaluation", self.training()),
        ]

    def warnings(self) -> list[page.Block]:
        """Runs that are missing, runs that should not be in one cell, and runs of an earlier version of the study."""
        return doubtful_runs(self.results, self.runs, self.where)

    @cached_property
    def evaluation(self) -> str:
        """How the runs were evaluated. Variants of a study are left out."""
        done = {run_id for runs in self.runs.values() for run_id in runs}
        places = [place for run_id, place in self.results.declared.items() if run_id in done]
        return evaluations_in_words(places, self.evidence.env_names)

    @property
    def protocol(self) -> str:
        """What a score is, and how runs were evaluated."""
        plain = self.results.evaluations.filter(pl.col("variant") == "")
        return f"{score_in_words(plain.group_by('run').len()['len'].to_list())} {self.evaluation}".rstrip()

    def summary(self) -> list[str]:
        """What was run, and the protocol, in sentences."""
        return [f"{self.what_was_run} {self.protocol}"]

    @property
    def what_was_run(self) -> str:
        """The agents, strategies, sizes and seeds of the finished runs, in a sentence."""
        runs = self.results.runs
        cells = [Cell.of(row) for row in runs.iter_rows(named=True)]
        if not cells:
            return "No run is finished."
        strategies = _named(
            [strategy_label(cell.strategy) for cell in cells if cell.strategy is not None], "strategies"
        )
        sizes_ = sorted({cell.capacity for cell in cells if cell.capacity is not None})
        span = f"{sizes_[0]:,} to {sizes_[-1]:,}" if len(sizes_) > 1 else "".join(f"{size:,}" for size in sizes_)
        counts = runs.group_by(["env", "agent", "strategy", "capacity", "variant"]).len()["len"].to_list()
        agents = _named([label_of(cell.agent) for cell in cells if cell.capacity is not None], "agents")
        alone = _named([label_of(cell.agent) for cell in cells if cell.capacity is None], "agents")
        parts = [
            f"{runs.height:,} runs",
            *([f"{agents} with {strategies}"] if strategies else []),
            *([f"{counted(len(sizes_), 'memory size')} ({span} entries per action)"] if sizes_ else []),
            *([f"{alone} without a memory"] if alone else []),
            f"{seeds_in_words(counts)} seed{'s' * (max(counts, default=0) > 1)} in a cell",
        ]
        return sentence("; ".join(parts))

    def claims(self) -> list[page.Block]:
        """The verdicts on the claims that this study can decide."""
        if not self.study.claims:
            return []
        every: ClaimList = load(self.study.claims)
        mine = [claim for claim in every.claims if self.study.name in claim.studies]
        wider = [claim for claim in mine if len(claim.studies) > 1]
        alone = [claim for claim in mine if claim not in wider]
        blocks = claims_blocks(replace(every, claims=tuple(alone)), self.evidence) if alone else []
        if wider:
            studies = dict.fromkeys(name for claim in wider for name in claim.studies)
            numbers, folders = listed([str(claim.number) for claim in wider]), " ".join(f"runs/{n}" for n in studies)
            which = f"Claim {numbers} is" if len(wider) == 1 else f"Claims {numbers} are"
            text = f"{which} about several studies, and decided from all of them together: engram claims {folders}; see"
            blocks.append(HomeNote(text, "all claims and their verdicts", page.anchor(every.title)))
        if not blocks:
            return []
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
        text = f"Runs here are shorter than {first.name}'s: {parts}."
        return [page.Text(text, note=True)] if shorter else []

    def tables(self) -> list[page.Block]:
        """Scores beside the published ones, intervals, and comparisons of strategies."""
        blocks = {agent: [block for block in self.every_block if block.agent == agent] for agent in self.agents}
        tables: list[page.Block] = [
            table for agent, mine in blocks.items() for table in self._few_and_all(mine, label_of(agent))
        ]
        tables += [
            self._baseline(agent) for agent in dict.fromkeys(a for e in self.envs for a in self.evidence.baselines(e))
        ]
        details = [table for block in self.every_block for table in self._details(block)]
        folded = [page.Folded("Intervals and comparisons of all strategies", details)] if details else []
        return [*tables, page.Text(legend(self.evidence, self.study.references), note=True), *folded]

    def _few_and_all(self, blocks: Sequence[Block], agent: str) -> list[page.Block]:
        """The scores with the strategies that are shown first and, where those are not all, a folded table of all."""
        every = list(dict.fromkeys(name for block in blocks for name in block.strategies))
        few, whole = self.featured.among(every), replace(score_table(blocks, agent), about=agent)
        if few == every:
            return [whole]
        count = number_in_words(len(every))
        shown = score_table(blocks, agent, few)
        note = f"Bold is decided among all {count} strategies; a table of all is folded on the page for a browser."
        return [
            replace(shown, about=agent, note=f"{note} {shown.note}".strip()),
            page.Folded(f"{agent}: all {count} strategies", [whole]),
        ]

    def _baseline(self, agent: str) -> page.Table:
        """The scores of an agent without a memory, one row for each environment."""
        cells = [cell for env in self.envs if (cell := Cell(env, agent, None, None)) in self.evidence.steps]
        references = self.study.references
        rows = [
            Row(
                [self.evidence.env_names[cell.env]],
                [cell],
                [entry(self.evidence, cell, self.runs.get(cell, ()), references)],
            )
            for cell in cells
        ]
        return titled(self.evidence, label_of(agent), ["environment", "score"], rows, references)

    def _details(self, block: Block) -> list[page.Block]:
        """Intervals and comparisons: details of the scores, folded away on the page."""
        if not block.complete:
            return []
        name = self.where(block.env, block.agent)
        improvements = improvement_table(block, name)
        return [interval_table(block, name), *([] if improvements is None else [improvements])]

    def training(self) -> list[page.Block]:
        """Returns of the episodes of training, for each agent and environment."""
        there = [block for block in self.every_block if block.complete]
        tables = [
            training_table(self.results.evaluations, block, self.where(block.env, block.agent)) for block in there
        ]
        text = "What an agent reaches while it explores, which is what the published figures of others often show."
        return [page.Folded("Returns of training episodes", [page.Text(text), *tables])] if tables else []


def _section(title: str, blocks: Sequence[page.Block]) -> list[page.Block]:
    """A section, if there is something in it."""
    return [page.Section(title, blocks)] if blocks else []


def _in_order(known: Sequence[str], found: Iterable[str]) -> list[str]:
    """What was found, each once: first what is known, in that order, then the rest."""
    there = dict.fromkeys(found)
    return [each for each in known if each in there] + [each for each in there if each not in known]


def _named(names: Sequence[str], things: str) -> str:
    """Names, each once, as they are listed in a sentence; how many where they are many; nothing for none."""
    several = list(dict.fromkeys(names))
    if not several:
        return ""
    return listed(several) if len(several) <= MOST_NAMED else f"{len(several)} {things}"
