"""The figures of a study: its finding, scores over memory sizes, learning curves, and the memory that a score needs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from engram.agents import label_of
from engram.files.file_names import as_link_names
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.pages import forest, page, sizes
from engram.lab.pages.block import Block
from engram.lab.pages.captions import highest_in_words, needed_in_words
from engram.lab.pages.curve_captions import curves_in_words, curves_of_envs_in_words
from engram.lab.pages.curve_panels import CurvePanels, shown_sizes
from engram.lab.pages.curves import BAND, curve_grid, learning_curves
from engram.lab.pages.featured import Featured
from engram.lab.pages.report_folder import write_figure
from engram.lab.pages.style import Look
from engram.lab.pages.wording import (
    listed,
    number_in_words,
    seeds_in_words,
    sentence,
    steps_in_words,
    worth_in_words,
)
from engram.lab.ranking import Comparison
from engram.lab.statistics import FEWEST
from engram.lab.typical import INTERQUARTILE, MEAN
from engram.pictures.canvas import Figure

LONGEST_STEM = 80  # bytes of a figure's file name that say the environment
SCORES = "Dots: mean score over n seeds; lines: its 95 % interval (Student), cut off where it goes beyond all scores."
WHOSE = {
    INTERQUARTILE: "Yuen",
    MEAN: "Student; at one size an exact one where all runs are 0 or all are 1",
}  # the intervals of means
STAR = "*, shaded: no table filled, so all strategies are the same."


@dataclass(frozen=True)
class Figures:
    """Draws the figures of a study and writes each to a file."""

    evidence: Evidence
    blocks: Sequence[Block]  # of all environments and agents with a memory
    looks: Mapping[str, Look]  # by label
    out: Path
    featured: Featured
    enlarged: Mapping[tuple[str, str, int], str] = field(default_factory=dict)  # environment, agent, size → what it is

    def finding(self, headline: str, rule: str) -> list[page.Block]:
        """The forest plot of all environments and agents; of many strategies, those of most interest."""
        compared = [(block, block.comparison) for block in self.blocks if block.comparison is not None]
        if not compared:
            return []
        seeds = {n for _, comparison in compared for n in comparison.seeds}
        robust = {block.env for block, comparison in compared if comparison.middles_differ}
        panels = [self._forest(block, comparison, robust=block.env in robust) for block, comparison in compared]
        blocks = [block for block, _ in compared]
        rows = self.featured.in_words(blocks)
        if any(comparison.order[0] not in self.featured.among(block.strategies) for block, comparison in compared):
            rows += " Each panel also has its highest."
        about = _forest_in_words({panel.scores for panel in panels}, seeds, rule)
        caption = _joined(rows, about, worth_in_words(seeds))
        drawn = forest.forest(panels, self.looks)
        return [replace(self._drawing(drawn, "finding", caption, across=1 + forest.is_compared(panels)), alt=headline)]

    def _forest(self, block: Block, comparison: Comparison, *, robust: bool) -> forest.Panel:
        first, *others = comparison.order
        shown = [first, *(name for name in others if name in self.featured.among(block.strategies))]
        rows = [
            forest.Row(
                strategy_label(name),
                comparison.middle(name) if robust else comparison.average(name),
                None if name == first else comparison.improvement(first, name),
                comparison.runs(name),
            )
            for name in shown
        ]
        count = len(comparison.sizes)
        where = f"{seeds_in_words(comparison.seeds)}{f' at each of {count} sizes' if count > 1 else ''}"
        scores = np.concatenate([each for by_size in comparison.scores.values() for each in by_size.values()])
        span = float(scores.min()), float(scores.max())
        return forest.Panel(f"{self._where(block)}, {where}", block.env, INTERQUARTILE if robust else MEAN, rows, span)

    def by_size(self) -> list[page.Block]:
        """Scores over memory sizes, for environments in which there are several."""
        rows = self._rows()
        if not rows:
            return []
        blocks = [block for row in rows for block in row]
        seeds = {n for block in blocks for n in block.seeds}
        star = STAR if any(not block.filled(size) for block in blocks for size in block.sizes) else ""
        bars = "; lines: its 95 % interval (Student), cut off where it goes beyond all scores"
        caption = _joined(
            f"Dots: mean score over n seeds{bars if max(seeds) >= FEWEST else ''}.", star, worth_in_words(seeds)
        )
        return self._few_and_all(
            rows,
            "score-by-size",
            lambda panels: sizes.score_by_size(panels, self.looks, y_label="Score"),
            caption,
            lambda some: highest_in_words({self._where(block): block for block in some}),
        )

    def needed(self) -> list[page.Block]:
        """The memory that a score needs, for environments in which there are several sizes."""
        rows = self._rows()
        if not rows:
            return []
        caption = (
            "The smallest memory with which a strategy's mean score (over n seeds) reaches a level, interpolated "
            "between the sizes that were run, over the logarithm of the size. A line ends at the highest score that "
            "the strategy reached; it jumps where more memory brought no more score. "
        )
        return self._few_and_all(
            rows,
            "memory-needed",
            lambda panels: sizes.memory_needed(panels, self.looks, x_label="Mean score"),
            caption,
            lambda some: _joined(*(needed_in_words(self._where(block), block) for block in some)),
        )

    def curves(self) -> list[page.Block]:
        """Learning curves: at a few sizes, or in all environments where all have one size only; the rest is folded."""
        envs = list(dict.fromkeys(block.env for block in self.blocks))
        if len(envs) > 1 and len({size for block in self.blocks for size in block.sizes}) == 1:
            return self._over_envs()
        found = {self.evidence.env_names[env]: self._over_sizes(env) for env in envs}
        if len(found) == 1:
            return [figure for figures in found.values() for figure in figures]
        return [page.Subsection(name, figures) for name, figures in found.items() if figures]

    def _over_envs(self) -> list[page.Block]:
        """One figure with a row for each agent and a panel for each environment."""
        size = self.blocks[0].sizes[0]
        rows = {}
        for agent in dict.fromkeys(block.agent for block in self.blocks):
            blocks = [block for block in self.blocks if block.agent == agent]
            panels = [panel for block in blocks for panel in CurvePanels(block).of_env(size)]
            if panels:
                rows[f"Return, {label_of(agent)}"] = panels
        if not rows:
            return []
        steps = steps_in_words({steps for block in self.blocks for steps in block.steps(block.sizes)})
        about = f"{self._agents(self.blocks)} with {size:,} entries per action, over {steps}"
        figure = curve_grid(rows, self.looks, same_returns=False)
        caption = _joined(f"{about}.", _means(self.blocks), self._worth(self.blocks))
        return [self._drawing(figure, "curves", caption, see=curves_of_envs_in_words(self.blocks))]

    def _over_sizes(self, env: str) -> list[page.Block]:
        """The curves of one environment: both agents at a few sizes; all sizes, and what the study enlarges, folded."""
        blocks = [block for block in self.blocks if block.env == env]
        panels = {block.agent: CurvePanels(self.featured.block(block)) for block in blocks}
        drawn = dict(zip(panels, shown_sizes(list(panels.values())), strict=True))
        shown = {agent: panels[agent].chosen(drawn[agent]) for agent in panels}
        rows = {f"Return, {label_of(agent)}": some for agent, some in shown.items() if some}
        if not rows:
            return []
        steps = steps_in_words({steps for block in blocks for steps in block.steps(block.sizes)})
        several = len({size for block in blocks for size in block.sizes}) > 1
        numbers = "several numbers of entries per action" if several else f"{blocks[0].sizes[0]:,} entries per action"
        name = blocks[0].env_name
        about = f"{name}: {self._agents(blocks)} for {numbers}, over {steps}."
        figure = curve_grid(rows, self.looks)
        caption = _joined(about, _means(blocks), self._worth(blocks))
        see = self._curves_in_words(blocks, drawn)
        more = [each for block in blocks for each in self._enlarged(block)]
        for block in blocks:
            every = panels[block.agent].every()
            if len(every) > len(shown[block.agent]):
                grid = curve_grid({f"Return, {label_of(block.agent)}": every}, self.looks)
                steps = steps_in_words(block.steps(block.sizes))
                text = f"{self._named(block)}: all sizes, over {steps}. {_means([block])}"
                see_all = self._curves_in_words([block])
                more.append(self._drawing(grid, f"curves-{block.agent}", text, env, see=see_all))
        folded = [page.Folded(f"{name}: curves at all sizes", more)] if more else []
        return [self._drawing(figure, "curves", caption, env, see=see), *folded]

    def _curves_in_words(self, blocks: Sequence[Block], drawn: Mapping[str, Collection[int]] | None = None) -> str:
        """What is to be seen in the curves of the strategies that are shown first."""
        few = [self.featured.block(block) for block in blocks]
        return _joined(self.featured.in_words(blocks), curves_in_words(few, drawn))

    def _enlarged(self, block: Block) -> list[page.Block]:
        """Curves that the study wants to be seen by themselves."""
        found: list[page.Block] = []
        for (env, agent, size), what in self.enlarged.items():
            curves = CurvePanels(block).curves(size) if (env, agent) == (block.env, block.agent) else []
            if curves:
                single = learning_curves(curves, self.looks, y_label="Return")
                n = seeds_in_words({len(curve.returns) for curve in curves})
                about = f"{self._named(block)} with {size:,} entries per action ({what}), {n}"
                text = f"{about}, over {steps_in_words(block.steps([size]))}. {_means([block])}"
                see = curves_in_words([replace(block, sizes=[size])])
                found.append(self._drawing(single, f"curves-{agent}-{size}", text, env, see=see))
        return found

    def _rows(self) -> list[list[Block]]:
        """The blocks with several sizes, a row for each environment."""
        there = [block for block in self.blocks if len(block.sizes) > 1 and block.complete]
        envs = dict.fromkeys(block.env for block in there)
        return [[block for block in there if block.env == env] for env in envs]

    def _few_and_all(
        self,
        rows: Sequence[Sequence[Block]],
        name: str,
        draw: Callable[[Sequence[Sequence[sizes.Panel]]], Figure],
        caption: str,
        see: Callable[[Sequence[Block]], str],
    ) -> list[page.Block]:
        """A figure with the strategies that are shown first, and one with all where those are more, folded."""
        blocks = [block for row in rows for block in row]
        told = self.featured.in_words(blocks)
        few = [[shown for block in row if (shown := self.featured.block(block)).complete] for row in rows]
        found: list[page.Block] = []
        if any(few):
            drawn = draw([[self._sizes(block) for block in row] for row in few if row])
            seen = _joined(told, see([block for row in few for block in row]))
            found.append(self._drawing(drawn, name, caption.strip(), see=seen))
        if told:
            every = [[self._sizes(block) for block in row] for row in rows]
            about = f"All {number_in_words(max(len(block.strategies) for block in blocks))} strategies"
            drawing = self._drawing(draw(every), f"{name}-all", f"{about}.", see=see(blocks))
            found.append(page.Folded(about, [drawing]))
        return found

    def _sizes(self, block: Block) -> sizes.Panel:
        baselines = {
            agent: self.evidence.scores(block.env, agent, None, None) for agent in self.evidence.baselines(block.env)
        }
        return sizes.Panel(
            f"{self._where(block)}, {seeds_in_words(block.seeds)}",
            {strategy_label(name): cells for name, cells in block.complete.items()},
            {label_of(agent): scores for agent, scores in baselines.items() if scores is not None},
            frozenset(size for size in block.sizes if not block.filled(size)),
        )

    def _agents(self, blocks: Sequence[Block]) -> str:
        """The agents of some blocks with their numbers of seeds, and those without a memory."""
        seeds: dict[str, set[int]] = {}
        for block in blocks:
            seeds.setdefault(label_of(block.agent), set()).update(block.seeds)
            for agent in self.evidence.baselines(block.env):
                scores = self.evidence.scores(block.env, agent, None, None)
                seeds.setdefault(label_of(agent), set()).update([] if scores is None else [len(scores)])
        return listed([f"{name} ({seeds_in_words(counts)})" for name, counts in seeds.items() if counts])

    def _worth(self, blocks: Sequence[Block]) -> str:
        return worth_in_words({n for block in blocks for n in block.seeds})

    def _named(self, block: Block) -> str:
        return f"{label_of(block.agent)} in {block.env_name}"

    def _where(self, block: Block) -> str:
        return block.place if self._several else label_of(block.agent)

    @property
    def _several(self) -> bool:
        return len({block.env for block in self.blocks}) > 1

    @cached_property
    def _stems(self) -> dict[str, str]:
        """With what the names of an environment's figures begin, where there are several."""
        names = self.evidence.env_names
        stems = as_link_names(names.values(), LONGEST_STEM)
        return {env: stems[name] for env, name in names.items()}

    def _drawing(
        self, figure: Figure, name: str, caption: str, env: str | None = None, *, see: str = "", across: int = 1
    ) -> page.Drawing:
        """Write a figure; what is to be seen in it comes first in its caption, and is what screen readers are told."""
        stem = name if env is None or not self._several else f"{self._stems[env]}-{name}"
        return write_figure(figure, self.out, stem, _joined(see, caption), alt=see, across=across)


def _forest_in_words(kinds: Collection[str], seeds: Collection[int], rule: str) -> str:
    """What the two sides of a forest plot are, with these kinds of means; `rule` is that of the page's sentence."""
    where = "of the scores at all sizes at which tables filled"
    why = "; the mean where scores lie between 0 and 1, or interquartile means would all be the same." * (MEAN in kinds)
    if max(seeds) < FEWEST:
        return sentence(f"{' or '.join(sorted(kinds))} {where}{why}")
    names = " or ".join(f"{kind} ({WHOSE[kind]})" for kind in sorted(kinds))
    return (
        f"Left: {names} {where}, with its 95 % interval, cut off far beyond all scores, hidden where it is narrower "
        f"than its dot{why or '.'} Right: how probably a run of the strategy with the highest mean scores above one of "
        "this row at the same size, where there are seeds enough to say so; where the interval crosses the line at one "
        "half, chance may explain it. Each pair is taken by itself here; the sentence above says so by another rule: "
        f"{rule}"
    )


def _means(blocks: Sequence[Block]) -> str:
    """What lines and bands of learning curves are."""
    known = max((n for block in blocks for n in block.seeds), default=0) >= FEWEST
    means = f"Lines: mean over n seeds; bands: {BAND}." if known else "Lines: mean over n seeds."
    return f"{means} Where lines lie on each other, they are striped."


def _joined(*texts: str) -> str:
    return " ".join(text for text in texts if text)
