"""The report on what the paper leaves open: each choice beside the runs of the other studies."""

from functools import cached_property

from engram.agents import label_of
from engram.envs.names import short_name
from engram.lab.dataframes import pl
from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.pages.numbers import interval_text, score_text
from engram.lab.pages.score_tables import ABOVE, BELOW, NOT_RUN, Block, absence
from engram.lab.pages.study_page import StudyReport
from engram.lab.pages.wording import steps_in_words
from engram.lab.results import Results
from engram.lab.statistics import difference, pooled_difference

PLAIN = "as in the other studies"


class OpenReport(StudyReport):
    """The report of a study with variants."""

    @cached_property
    def variants(self) -> dict[str, Evidence]:
        """The results of each variant; the first, without a name, is the protocol as it stands."""
        places = self.results.declared
        found = {}
        for name in dict.fromkeys(place["variant"] for place in places.values()):
            frame = self.results.evaluations.filter(pl.col("variant") == name).with_columns(variant=pl.lit(""))
            mine = {run: {**place, "variant": ""} for run, place in places.items() if place["variant"] == name}
            found[name] = Evidence([Results(self.results.study, "", frame, mine, [])])
        return found

    def summary(self) -> list[str]:
        """The number of runs, the protocol, and what the rows are."""
        agents = " and ".join(map(label_of, self.agents))
        return [
            f"{self.results.runs.height} runs of {agents}. {self.protocol} Each row changes one thing that the paper "
            "does not say; everything else stays as it is in the other studies."
        ]

    def sections(self) -> list[page.Block]:
        """A part for each environment."""
        return [self.environment(env) for env in self.envs]

    def environment(self, env: str) -> page.Section:
        """A table per memory size: variants down, strategies across; and what each changes in the mean."""
        blocks: list[page.Block] = []
        training: list[page.Block] = []
        for block in self.blocks(env):
            for size in block.sizes:
                about = f"{label_of(block.agent)}, {size:,} entries per action"
                caption = f"{about}, after {steps_in_words(block.steps([size]))}"
                names = self._names(block, size)
                rows = [self._row(name, block, size) for name in names]
                blocks.append(page.Table(["", *block.labels, "mean change"], rows, caption))
                episodes = [[name or PLAIN, *self._training(name, block, size)] for name in names]
                over = f"{about}: mean return of training episodes (ε-greedy) over the same time as the score"
                training.append(page.Table(["", *block.labels], episodes, over))
        note = (
            f"Mean ± standard deviation over seeds. {ABOVE} {BELOW}: above or below the first row beyond the 95 % "
            "interval (Welch, each cell by itself). Mean change: over the strategies of the row, with its 95 % "
            f"interval. {NOT_RUN}: nothing to compare, or a choice that the strategy does not have."
        )
        return page.Section(
            short_name(env), [*blocks, page.Text(note, note=True), page.Folded("Training episodes", training)]
        )

    def _names(self, block: Block, size: int) -> list[str]:
        """The variants that an agent was asked for at a size."""
        cells = [block.cell(strategy, size) for strategy in block.strategies]
        return [name for name, found in self.variants.items() if any(cell in found.steps for cell in cells)]

    def _training(self, name: str, block: Block, size: int) -> list[str]:
        """A variant's mean returns of training episodes, by strategy."""
        evidence, texts = self.variants[name], []
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
                texts.append(self.training_text(here.filter(pl.col("strategy") == strategy)["run"], block.digits))
        return texts

    def _row(self, name: str, block: Block, size: int) -> list[str | page.Entry]:
        """A variant's scores by strategy, and its mean change."""
        cells: list[str | page.Entry] = [name or PLAIN]
        pairs = []
        for strategy in block.strategies:
            ours = self.variants[name].scores(block.env, block.agent, strategy, size)
            plain = self.variants[""].scores(block.env, block.agent, strategy, size)
            if ours is None:
                cells.append(page.Entry(absence(self.variants[name], block.cell(strategy, size)), dim=True))
                continue
            mark = ""
            if name and plain is not None:
                gap = difference(ours, plain)
                mark = ABOVE if gap.above(0) else BELOW if gap.below(0) else ""
                pairs.append((ours, plain))
            cells.append(page.Entry(score_text(ours, block.digits), mark=mark))
        cells.append(interval_text(pooled_difference(pairs), block.digits) if pairs else "–")
        return cells
