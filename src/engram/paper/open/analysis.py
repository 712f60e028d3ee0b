"""The report on what the paper leaves open: each choice beside the runs of the other studies."""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from engram.agents import label_of
from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.pages.block import Block
from engram.lab.pages.differences import Dot, Panel, differences_figure
from engram.lab.pages.finding import Finding
from engram.lab.pages.numbers import interval_text, score_number, score_text
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.score_tables import ABOVE, BELOW, NOT_RUN, absence
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.training_table import WHAT, training_text
from engram.lab.pages.wording import changes_in_words, counted, listed, seeds_in_words, sentence, steps_in_words
from engram.lab.ranking import together
from engram.lab.results import Results
from engram.lab.statistics import Interval, difference, pooled_difference, total, weighted_terms
from engram.paper.open.sweep import MEANINGS
from engram.typing import Array

PLAIN = "as in the other studies"


def mean_change(pairs: Sequence[tuple[Array, Array]], *, level: float = 0.95) -> Interval:
    """Mean over pairs of samples of the change from the second to the first, seed by seed where they have the same."""
    if any(len(ours) != len(plain) for ours, plain in pairs):
        return pooled_difference(pairs, level=level)
    return total(weighted_terms((1 / len(pairs), ours - plain) for ours, plain in pairs), level=level)


class Change(NamedTuple):
    """What a choice changes in the mean over the strategies of one agent, environment and size."""

    choice: str
    block: Block
    size: int
    pairs: Sequence[tuple[Array, Array]]  # of each strategy the scores with the choice and without

    def interval(self, level: float = 0.95) -> Interval:
        """The mean over strategies of the differences, run by run: both have the same seeds."""
        return mean_change(self.pairs, level=level)

    @property
    def where(self) -> str:
        """The agent, the environment and the size in words."""
        return f"{self.block.place}, {self.size:,}"


class OpenReport(StudyReport):
    """The report of a study with variants."""

    @cached_property
    def by_variant(self) -> dict[str, Evidence]:
        """The results of each variant; the first, without a name, is the protocol as it stands."""
        places = self.results.declared
        found = {}
        for name in dict.fromkeys(place["variant"] for place in places.values()):
            frame = self.results.evaluations.filter(pl.col("variant") == name).with_columns(variant=pl.lit(""))
            mine = {run: {**place, "variant": ""} for run, place in places.items() if place["variant"] == name}
            found[name] = Evidence([Results(self.results.study, "", frame, mine, [])])
        return found

    @cached_property
    def changes(self) -> list[Change]:
        """What each choice changes, wherever it was tried and no run is missing."""
        found = []
        for block in self.every_block:
            for size in block.sizes:
                for name in self._names(block, size):
                    pairs = self._pairs(name, block, size)
                    if name and pairs:
                        found.append(Change(name, block, size, pairs))
        return found

    @property
    def level(self) -> float:
        """That of each interval with which all of the page hold together at 95 %."""
        return together(len(self.changes))

    @property
    def seeds(self) -> str:
        """How many runs are behind every mean: `n = 5`."""
        return seeds_in_words({len(scores) for each in self.changes for pair in each.pairs for scores in pair})

    @cached_property
    def found(self) -> Finding:
        """How many of the choices change a mean score beyond chance, and by how much."""
        changed = dict[str, list[str]]()
        for each in self.changes:
            gap = each.interval(self.level)
            if gap.above(0) or gap.below(0):
                by = f"{'+' if gap.estimate > 0 else ''}{score_number(gap.estimate, each.block.digits)}"
                changed.setdefault(each.choice, []).append(f"{by} in {each.where}")
        choices = list(dict.fromkeys(each.choice for each in self.changes))
        if not choices:
            return Finding("No choice that the paper leaves open has all its runs, so nothing is known of any.")
        said = changes_in_words(
            len(changed), len(choices), "choice", "mean score beyond chance", " that the paper leaves open"
        )
        told = {name: "; ".join(where) for name, where in changed.items()}
        named = f": {listed([f'{name} ({places})' for name, places in told.items()])}" if told else ""
        headline = sentence(f"{said}{named}")
        short = sentence(f"{said}{f': {listed(list(told))}' if told else ''}")
        intervals = counted(len(self.changes), "interval")
        over = (
            f"These are means over strategies, {self.seeds}, and the {intervals} hold all together at 95 %. "
            "The tables below show each interval by itself: of so many, a few lie beside 0 by chance alone."
        )
        return Finding(headline, [headline, over], short=short)  # with variants, a page leaves out the first

    def first_figure(self) -> list[page.Block]:
        """What every choice changes, wherever it was tried."""
        panels = dict[str, Panel]()
        for each in self.changes:
            where = each.block.place
            panel = panels.setdefault(where, Panel(where, each.block.digits, []))
            panel.dots.append(Dot(each.choice, f"{each.size:,}", each.interval(), each.interval(self.level)))
        if not panels:
            return []
        caption = (
            f"What each choice changes in the mean over strategies, seed by seed, {self.seeds}; left of the broken "
            "line scores are lower with it. Signs beside a title: entries per action. Thick lines: the 95 % interval "
            f"of a change by itself; thin ones: the intervals of which all {len(self.changes)} hold together at 95 %. "
            "Orange: beyond chance by the latter. Changes of exactly 0 are of runs that are the same with the choice "
            "and without."
        )
        drawn = differences_figure(list(panels.values()))
        return [write_figure(drawn, self.out, "changes", caption, self.found.headline)]

    def summary(self) -> list[str]:
        """The number of runs, the protocol, and what the rows are."""
        agents = listed([label_of(agent) for agent in self.agents])
        return [
            f"{self.results.runs.height:,} runs of {agents}. {self.protocol} "
            "Each choice changes one thing that the paper does not say; everything else stays as it is in the other "
            "studies."
        ]

    def sections(self) -> list[page.Block]:
        """What the choices are, and a part for each environment."""
        rows = [[name, MEANINGS.get(name, "")] for name in self.by_variant if name]
        choices = page.Section("The choices", [page.Table(["choice", "what it changes"], rows, prose=True)])
        return [choices, *(self.environment(env) for env in self.envs)]

    def environment(self, env: str) -> page.Section:
        """A table per memory size: variants down, strategies across; and what each changes in the mean."""
        blocks: list[page.Block] = []
        training: list[page.Block] = []
        for block in self.blocks(env):
            for size in block.sizes:
                names = self._names(block, size)
                about = f"{label_of(block.agent)}, {size:,} entries per action"
                n = seeds_in_words(self._seeds(names, block, size))
                caption = f"{about}, after {steps_in_words(block.steps([size]))}, {n}"
                rows = [self._row(name, block, size) for name in names]
                blocks.append(page.Table(["", *block.labels, "mean change"], rows, caption))
                episodes = [[name or PLAIN, *self._training(name, block, size)] for name in names]
                training.append(page.Table(["", *block.labels], episodes, f"{about}: {WHAT}, {n}"))
        note = (
            f"Mean ± standard deviation over n seeds. {ABOVE} {BELOW}: above or below the first row beyond the 95 % "
            "interval (Welch, each cell by itself). Mean change: over the strategies of the row, seed by seed, with "
            f"its 95 % interval (Student). {NOT_RUN}: nothing to compare, or a choice that the strategy does not have."
        )
        return page.Section(
            self.evidence.env_names[env],
            [*blocks, page.Text(note, note=True), page.Folded("Training episodes", training)],
        )

    def _names(self, block: Block, size: int) -> list[str]:
        """The variants that an agent was asked for at a size."""
        cells = [block.cell(strategy, size) for strategy in block.strategies]
        return [name for name, found in self.by_variant.items() if any(cell in found.steps for cell in cells)]

    def _scores(self, name: str, block: Block, strategy: str, size: int) -> Array | None:
        return self.by_variant[name].scores(block.env, block.agent, strategy, size)

    def _pairs(self, name: str, block: Block, size: int) -> list[tuple[Array, Array]]:
        """Of each strategy that has both, the scores of a variant and those without it."""
        both = [
            (self._scores(name, block, each, size), self._scores("", block, each, size)) for each in block.strategies
        ]
        return [(ours, plain) for ours, plain in both if ours is not None and plain is not None]

    def _seeds(self, names: Sequence[str], block: Block, size: int) -> set[int]:
        """The numbers of seeds of the cells of a table."""
        found = [self._scores(name, block, strategy, size) for name in names for strategy in block.strategies]
        return {len(scores) for scores in found if scores is not None}

    def _training(self, name: str, block: Block, size: int) -> list[str]:
        """A variant's mean returns of training episodes, by strategy."""
        evidence, texts = self.by_variant[name], []
        here = self.results.runs.filter(
            pl.col("variant") == name,
            pl.col("env") == block.env,
            pl.col("agent") == block.agent,
            pl.col("capacity") == size,
        )
        for strategy in block.strategies:
            if evidence.scores(block.env, block.agent, strategy, size) is None:
                texts.append(absence(evidence, block.cell(strategy, size)))
            else:
                runs = here.filter(pl.col("strategy") == strategy)["run"]
                texts.append(training_text(self.results.evaluations, runs, block.digits))
        return texts

    def _row(self, name: str, block: Block, size: int) -> list[str | page.Entry]:
        """A variant's scores by strategy, and its mean change."""
        cells: list[str | page.Entry] = [name or PLAIN]
        for strategy in block.strategies:
            ours, plain = (self._scores(each, block, strategy, size) for each in (name, ""))
            if ours is None:
                cells.append(page.Entry(absence(self.by_variant[name], block.cell(strategy, size)), dim=True))
                continue
            mark = ""
            if name and plain is not None:
                gap = difference(ours, plain)
                mark = ABOVE if gap.above(0) else BELOW if gap.below(0) else ""
            cells.append(page.Entry(score_text(ours, block.digits), mark=mark))
        pairs = self._pairs(name, block, size) if name else []
        cells.append(interval_text(mean_change(pairs), block.digits) if pairs else "–")
        return cells
