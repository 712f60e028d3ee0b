"""The report of a study of the paper: its tables beside the paper's, its figures, what its claims came to."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from engram.agents import NAMES
from engram.report import page, sizes
from engram.report.canvas import Figure
from engram.report.claims import CLAIMS, Claim, Evidence
from engram.report.claims.evidence import Cell
from engram.report.claims.rules import FAILS, HOLDS, OPEN, name_of
from engram.report.curves import BAND, Curve, curve_grid, learning_curves
from engram.report.folder import write_figure, write_page
from engram.report.published import PAPER
from engram.report.style import D3QN, Look, label, looks
from engram.report.tables import LEGEND, THEIRS, Block, differs, entry, robust_mean, score_text
from engram.studies.store import Results
from engram.training.disk import write_atomically
from engram.training.folder import LAST_EVALUATIONS
from engram.typing import Array

EPISODIC = ("mfec", "nec")
MARKS = {HOLDS: "✓", FAILS: "✗", OPEN: "?"}  # told apart without colours
FEW = 10  # missing runs that are named at once
PROTOCOL = f"A run's score is the mean return of its last {LAST_EVALUATIONS} evaluations, each of ten greedy episodes."


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
        """In the order of the study."""
        return list(dict.fromkeys(place["env"] for place in self.results.declared.values()))

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

    def write(self) -> Path:
        """Write the page and its parts; return the page's path."""
        self.results.export(self.out)
        write_atomically(self.out / "scores.csv", self.scores_csv().encode())
        return write_page(page.Page(self.results.title, self.content()), self.out)

    def content(self) -> list[page.Block]:
        """The page from top to bottom."""
        content: list[page.Block] = [*self.warnings(), *(page.Text(text) for text in self.summary())]
        content += self.claims()
        for env in self.envs:
            content += self.environment(env)
        return [*content, self.how_it_was_made()]

    def environment(self, env: str) -> list[page.Block]:
        """Tables and figures of one environment."""
        place = f"{name_of(env)}: " if len(self.envs) > 1 else ""
        return [
            page.Section(_title(f"{place}scores"), self.tables(env)),
            page.Section(_title(f"{place}learning curves"), self.curves(env)),
            page.Section(_title(f"{place}what a larger memory buys"), self.by_size(env)),
        ]

    def warnings(self) -> list[page.Block]:
        """Runs that are missing."""
        missing = self.results.missing
        if not missing:
            return []
        text = f"{len(missing)} of {len(self.results.declared)} runs are missing, and their cells say so."
        names = page.Names(missing)
        shown = names if len(missing) <= FEW else page.Folded("Which runs are missing", [names])
        return [page.Warnings([text]), shown]

    def summary(self) -> list[str]:
        """What came out, in sentences."""
        runs = self.results.runs
        seeds = ", ".join(map(str, sorted(runs["seed"].unique().to_list())))
        sentences = [f"{runs.height} runs from seeds {seeds}. {PROTOCOL}"]
        for env in self.envs:
            for block in self.blocks(env):
                sizes_ = [size for size in block.sizes if block.filled(size)]
                firsts = {name: [size for size in sizes_ if name in block.best(size)] for name in block.strategies}
                told = [f"{name} at {_listed(where)}" for name, where in firsts.items() if where]
                where = f"{name_of(env)}, {NAMES[block.agent]}" if len(self.envs) > 1 else NAMES[block.agent]
                if told:
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
        return [page.Section("The paper's claims", blocks)]

    def tables(self, env: str) -> list[page.Block]:
        """Ours beside theirs, intervals, and who beats whom."""
        blocks: list[page.Block] = []
        folded: list[page.Block] = []
        for block in self.blocks(env):
            name = NAMES[block.agent]
            blocks.append(block.beside_theirs(name))
            folded.append(block.intervals(f"{name}: interquartile mean [95 % stratified bootstrap interval]"))
            improvements = block.improvements(
                f"{name}: probability that a run of the row scores above one of the column"
            )
            folded += [improvements] if improvements is not None else []
            folded.append(self._late_training(block))
        cell = Cell(env, "d3qn", None, None)
        if cell in self.runs or cell in self.evidence.incomplete:
            scores = self.evidence.scores(*cell)
            blocks.append(page.Table(["", "score"], [["D3QN", entry(scores, cell, self.runs.get(cell, ()))]]))
        theirs = LEGEND if any(key.env == env for key in PAPER) else LEGEND.replace(THEIRS, "")
        return [*blocks, page.Text(theirs, note=True), page.Folded("Intervals, comparisons, training episodes", folded)]

    def _late_training(self, block: Block) -> page.Table:
        """Returns of the episodes of training, which explore, beside the greedy ones of evaluations."""
        frame = self.results.evaluations
        rows: list[list[str]] = []
        for size in block.sizes:
            row = [f"{size:,}"]
            for name in block.strategies:
                means = []
                for run in self.runs.get(Cell(block.env, block.agent, name, size), ()):
                    last = frame.filter(frame["run"] == run).tail(LAST_EVALUATIONS)["training_return"].drop_nulls()
                    means += [last.mean()] if len(last) else []
                row.append(score_text(np.array(means), block.digits) if means else "–")
            rows.append(row)
        caption = f"{NAMES[block.agent]}: mean return of training episodes (ε-greedy) over the same time as the score"
        return page.Table(["entries per action", *block.strategies], rows, caption)

    def curves(self, env: str) -> list[page.Block]:
        """Learning curves per memory size, with D3QN, if there is any, in each panel."""
        blocks: list[page.Block] = []
        baseline = self._curve(Cell(env, "d3qn", None, None), "D3QN")
        for block in self.blocks(env):
            panels = {}
            for size in block.sizes:
                cells = [(Cell(env, block.agent, name, size), name) for name in block.strategies]
                drawn = [curve for cell, name in cells if (curve := self._curve(cell, name)) is not None]
                panels[f"{size:,} entries"] = [*drawn, *([baseline] if baseline is not None else [])]
            panels = {title: curves for title, curves in panels.items() if curves}
            if not panels:
                continue
            figure = curve_grid(panels, self.looks, y_label="Return")
            name = NAMES[block.agent]
            beside = "" if baseline is None else ", and D3QN"
            caption = f"{name} in {name_of(env)}, for each number of entries per action{beside}. "
            blocks.append(self._drawing(figure, env, f"curves-{block.agent}", caption + self._band()))
            if (env, block.agent) == ("CartPole-v1", "nec") and (curves := panels.get("50 entries")):
                single = learning_curves(curves, self.looks, y_label="Return (mean of 10 greedy episodes)")
                caption = "NEC in CartPole with 50 entries per action (the paper's Figure 2). "
                blocks.append(self._drawing(single, env, "curves-nec-50", caption + self._band()))
        return blocks

    def _band(self) -> str:
        return f"Lines: mean over seeds; bands: {BAND}."

    def _curve(self, cell: Cell, name: str) -> Curve | None:
        seeds = self.evidence.curves.get(cell)
        return Curve.of(name, [seeds[seed] for seed in sorted(seeds)]) if seeds else None

    def by_size(self, env: str) -> list[page.Block]:
        """Scores over memory sizes."""
        baseline = self.evidence.scores(env, "d3qn", None, None)
        panels = []
        for block in self.blocks(env):
            there = block.there()
            if there and len(block.sizes) > 1:
                panels.append(
                    sizes.Panel(
                        NAMES[block.agent],
                        there,
                        {
                            name: {size: self._last(block, name, size) for size in cells}
                            for name, cells in there.items()
                        },
                        None if baseline is None else float(baseline.mean()),
                        frozenset(size for size in block.sizes if not block.filled(size)),
                    )
                )
        if not panels:
            return [page.Text("One memory size only.")]
        star = " *: no table ever filled." if any(panel.empty for panel in panels) else ""
        score = sizes.score_by_size(panels, self.looks, y_label="Score")
        box = sizes.boxes(panels, self.looks, y_label="Return")
        needed = sizes.memory_needed(panels, self.looks, x_label="Mean score")
        return [
            self._drawing(score, env, "score-by-size", f"Mean score over seeds with 95 % bootstrap intervals.{star}"),
            self._drawing(
                *(box, env, "boxes"),
                f"Returns of the last {LAST_EVALUATIONS} evaluations of all seeds: quartiles, median, extremes.{star}",
            ),
            self._drawing(
                *(needed, env, "memory-needed"),
                "The smallest memory with which a strategy's mean score reaches a level, interpolated between the "
                "sizes that were run; a line ends at the highest score that the strategy reached.",
            ),
        ]

    def _last(self, block: Block, name: str, size: int) -> Array:
        curves = self.evidence.curves[Cell(block.env, block.agent, name, size)]
        return np.concatenate([returns[-LAST_EVALUATIONS:] for _, returns in curves.values()])

    def _drawing(self, figure: Figure, env: str, name: str, caption: str) -> page.Drawing:
        stem = f"{name_of(env).lower()}-{name}" if len(self.envs) > 1 else name
        return write_figure(figure, self.out, stem, caption)

    def how_it_was_made(self) -> page.Section:
        """Commands, machine, versions, and the runs behind every cell."""
        calls = self.results.calls
        facts = made_facts(calls)
        steps = {f"{NAMES[p['agent']]} {p['steps']:,} steps" for p in self.results.declared.values()}
        facts["Training"] = [", ".join(sorted(steps))]
        rows: list[list[str | page.Entry]] = []
        columns = ["env", "agent", "strategy", "capacity", "variant"]
        for (env, agent, strategy, capacity, variant), runs in self.results.runs.group_by(columns, maintain_order=True):
            memory = [] if capacity is None else [str(strategy), f"{capacity:,}"]
            place = [name_of(str(env)), NAMES[str(agent)], *memory, *([str(variant)] if variant else [])]
            rows.append([", ".join(place), page.Entry("", runs.sort("seed")["run"].to_list())])
        listed = page.Table(["cell", "runs"], rows, prose=True)
        commands = list(dict.fromkeys(call["command"] for call in calls))
        return page.Section(
            "How it was made",
            [page.Facts(facts, commands), page.Folded(f"The runs behind every cell ({len(rows)} cells)", [listed])],
        )

    def scores_csv(self) -> str:
        """One line per cell, with the runs that it is made of."""
        text = StringIO()
        writer = csv.writer(text, lineterminator="\n")
        head = (
            "env agent strategy capacity seeds mean std iqm iqm_low iqm_high filled paper_mean paper_std differs runs"
        )
        writer.writerow(head.split())
        for cell, runs in self.runs.items():
            scores = self.evidence.scores(*cell)
            if scores is None:
                continue
            theirs, robust = PAPER.get(cell), robust_mean([scores])
            assert robust is not None
            filled = "" if cell.capacity is None else self.evidence.filled(cell.env, cell.agent, cell.capacity)
            numbers = [
                scores.mean(),
                scores.std(ddof=1) if len(scores) > 1 else "",
                robust.estimate,
                robust.low,
                robust.high,
            ]
            writer.writerow(
                [*cell, len(scores), *(f"{value:.4f}" if value != "" else "" for value in numbers), filled]
                + (["", "", ""] if theirs is None else [theirs.mean, theirs.std, differs(scores, theirs)])
                + [" ".join(runs)]
            )
        return text.getvalue()


def _title(text: str) -> str:
    return text[0].upper() + text[1:]


def _listed(sizes: Sequence[int]) -> str:
    *first, last = (f"{size:,}" for size in sizes)
    return f"{', '.join(first)} and {last}" if first else last


def claims_blocks(claims: Sequence[Claim], evidence: Evidence) -> list[page.Block]:
    """A table of verdicts, and the rules behind them."""
    verdicts, rules = claims_tables(claims, evidence)
    return [verdicts, page.Folded("The rules", [rules])]


def claims_tables(claims: Sequence[Claim], evidence: Evidence) -> tuple[page.Table, page.Table]:
    """The verdicts, and the rules."""
    rows: list[list[str | page.Entry]] = []
    for claim in claims:
        verdict = claim.decide(evidence)
        word = page.Entry(f"{MARKS[verdict.word]} {verdict.word}", bold=True)
        rows.append([str(claim.number), claim.text, word, verdict.why])
    table = page.Table(["", "claim", "verdict", "because"], rows, prose=True)
    rules = page.Table(
        ["", "rule"],
        [[str(claim.number), claim.rule] for claim in claims],
        prose=True,
        note="best(X): X is best in all the cells named. A rival that is better in any one of them (Welch intervals, "
        "all comparisons together at 95 %) speaks against it; for it to hold, X must be better than each rival in "
        "the mean over the cells. Cells in which no table ever filled do not count. Intervals of one kind within a "
        "claim hold together with 95 % confidence (Bonferroni). The rules were written down before the studies were "
        "run; what was corrected since is how they treat missing runs and tables that never filled.",
    )
    return table, rules


def made_facts(calls: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Wall-clock, machine and versions."""
    if not calls:
        return {}
    return {
        "Wall-clock": [
            f"{call['seconds'] / 60:.1f} min for {call['runs']['done']} runs on {call['where']} "
            f"({call['started'][:10]}; {call['runs']['reused']} reused, {call['runs']['failed']} failed)"
            for call in calls
            if call["runs"]["done"]
        ],
        "Machine": sorted({f"{call['platform']}, {call['cores']} cores" for call in calls}),
        "Versions": sorted(
            {
                ", ".join([f"Python {call['python']}", *(f"{name} {text}" for name, text in call["versions"].items())])
                for call in calls
            }
        ),
    }
