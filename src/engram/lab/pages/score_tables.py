"""Tables of a study: its scores beside published ones, intervals, and comparisons of strategies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from engram.lab.cell import Cell
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.pages.block import Block
from engram.lab.pages.numbers import interval_text, score_text
from engram.lab.pages.page import Entry, Table
from engram.lab.pages.wording import seeds_in_words, steps_in_words
from engram.lab.reference import Reference, Score
from engram.lab.statistics import FEWEST, difference_from
from engram.lab.typical import INTERQUARTILE, MEAN, are_shares, typical
from engram.typing import Array

UNFILLED = "○"
ABOVE, BELOW = "▲", "▼"
MISSING, NOT_RUN = "missing", "–"  # a run of the cell is not finished; the cell is not part of the study


@dataclass(frozen=True)
class Row:
    """A row of a table of scores."""

    labels: Sequence[str]
    cells: Sequence[Cell]
    entries: Sequence[Entry]
    group: str = ""  # rows with the same one stand below it


def score_rows(block: Block, strategies: Sequence[str]) -> list[Row]:
    """A row for each size, with these strategies: scores, and published ones below."""
    found = []
    for size in block.sizes:
        filled = block.filled(size)
        best = block.best(size) if filled else ()
        cells = [block.cell(name, size) for name in strategies]
        entries = [
            entry(
                *(block.evidence, cell, block.runs.get(cell, ()), block.references),
                bold=cell.strategy in best,
                filled=filled,
                digits=block.digits,
            )
            for cell in cells
        ]
        found.append(Row([f"{size:,}"], cells, entries))
    return found


def interval_table(block: Block, name: str) -> Table:
    """Interquartile means, or of shares means, with their intervals."""
    shares, rows = are_shares(each for cells in block.complete.values() for each in cells.values()), []
    for size in block.sizes:
        cells = []
        for strategy in block.strategies:
            scores, absent = block.scores(strategy, size), absence(block.evidence, block.cell(strategy, size))
            cells.append(absent if scores is None else interval_text(typical([scores], shares=shares), block.digits))
        rows.append([f"{size:,}", *cells])
    pooled = [_pooled(block, strategy) for strategy in block.strategies]
    if any(pooled):
        every = [interval_text(typical(some, shares=shares), block.digits) if some else "–" for some in pooled]
        rows.append(["all that filled", *every])
    bounds = " [95 % interval]" if max(block.seeds) >= FEWEST else ""
    caption = f"{name}: {MEAN if shares else INTERQUARTILE}{bounds}, {seeds_in_words(block.seeds)}"
    return Table(["entries per action", *block.labels], rows, caption)


def _pooled(block: Block, strategy: str) -> list[Array]:
    """The scores of a strategy at the sizes at which tables filled."""
    return [scores for size, scores in block.complete.get(strategy, {}).items() if block.filled(size)]


def improvement_table(block: Block, name: str) -> Table | None:
    """How often a run of one strategy scores higher than one of another, at the same size."""
    comparison = block.comparison
    if comparison is None:
        return None
    rows = []
    for ours in block.strategies:
        others = [
            "–" if ours == theirs else interval_text(comparison.improvement(ours, theirs), digits=2)
            for theirs in block.strategies
        ]
        rows.append([strategy_label(ours), *others])
    count = len(comparison.sizes)
    where = f"{seeds_in_words(comparison.seeds)} at {'each of ' if count > 1 else ''}{count} size{'s'[: count > 1]}"
    caption = f"{name}: probability that a run of the row scores above one of the column, {where}"
    return Table(["", *(f"> {name}" for name in block.labels)], rows, caption)


def score_table(blocks: Sequence[Block], name: str, strategies: Sequence[str] = ()) -> Table:
    """The scores of one agent, with some strategies or all; several environments are in one table, each a group."""
    evidence = blocks[0].evidence
    several = len({cell.env for cell in evidence.steps}) > 1
    grouped = several and any(len(block.sizes) > 1 for block in blocks)
    names = list(
        dict.fromkeys(each for block in blocks for each in block.strategies if each in strategies or not strategies)
    )
    rows = []
    for block in blocks:
        for row in score_rows(block, names):
            where = block.env_name
            named = replace(row, group=where) if grouped else replace(row, labels=[where, *row.labels])
            rows.append(named if several else row)
    header = [*(["environment"] if several and not grouped else []), "entries per action"]
    return titled(evidence, name, [*header, *map(strategy_label, names)], rows, blocks[0].references)


def titled(
    evidence: Evidence, name: str, header: Sequence[str], rows: Sequence[Row], references: Sequence[Reference] = ()
) -> Table:
    """A table that says how long training was and how many seeds there are, as far up as it holds.

    That is in its caption, above a group of rows, in a row or in a cell.
    """
    groups = [row.group for row in rows]
    seeds = [_seeds(evidence, row.cells) for row in rows]
    alike = [len(_known(counts)) <= 1 for counts in seeds]
    trained = _Told.of([_steps(evidence, row.cells, references) for row in rows], groups)
    numbers = _Told.of([_n(counts) if same else None for counts, same in zip(seeds, alike, strict=True)], groups)
    body: list[list[str | Entry]] = []
    above: dict[int, str] = {}
    for number, (row, counts) in enumerate(zip(rows, seeds, strict=True)):
        if row.group and row.group not in groups[:number]:
            above[number] = ", ".join(_there(row.group, trained.groups.get(row.group), numbers.groups.get(row.group)))
        *labels, last = row.labels
        notes = _there(trained.rows[number], numbers.rows[number])
        entries = [
            each if n is None or alike[number] else replace(each, below=[f"n = {n}", *each.below])
            for each, n in zip(row.entries, counts, strict=True)
        ]
        body.append([*labels, Entry(last, notes) if notes else last, *entries])
    whole = all(each.text != NOT_RUN for row in rows for each in row.entries)
    caption = ", ".join(_there(f"{name} after {trained.caption}" if trained.caption else name, numbers.caption))
    return Table(header, body, caption, note="" if whole else f"{NOT_RUN}: not run.", groups=above)


class _Told(NamedTuple):
    """What is told of rows: of all of them, of groups, and of those of which neither is true."""

    caption: str
    groups: Mapping[str, str]
    rows: Sequence[str]

    @classmethod
    def of(cls, texts: Sequence[str | None], groups: Sequence[str]) -> Self:
        """Of a text for each row, empty where there is nothing to tell, None where its cells tell it."""
        if len(every := {text for text in texts if text != ""}) <= 1 and None not in every:
            return cls("".join(each for each in every if each), {}, [""] * len(texts))
        found = {
            group: {text for text, mine in zip(texts, groups, strict=True) if mine == group and text != ""}
            for group in groups
            if group
        }
        told = {group: text for group, mine in found.items() if len(mine) == 1 and (text := next(iter(mine)))}
        return cls("", told, ["" if group in told else text or "" for text, group in zip(texts, groups, strict=True)])


def _there(*texts: str | None) -> list[str]:
    return [text for text in texts if text]


def _known(counts: Sequence[int | None]) -> set[int]:
    return {n for n in counts if n is not None}


def _seeds(evidence: Evidence, cells: Sequence[Cell]) -> list[int | None]:
    """The number of seeds of each cell; None for one without a score."""
    return [None if (scores := evidence.scores(*cell)) is None else len(scores) for cell in cells]


def _n(counts: Sequence[int | None]) -> str:
    return seeds_in_words([n for n in counts if n is not None])


def _steps(evidence: Evidence, cells: Sequence[Cell], references: Sequence[Reference]) -> str:
    """How long the runs of these cells were trained, and those of the first reference where that differs."""
    ours = {steps for cell in cells for steps in evidence.steps.get(cell, ())}
    if not references:
        return steps_in_words(ours)
    first = references[0]
    return steps_in_words(ours, {first.scores[cell].steps for cell in cells if cell in first.scores}, first.name)


def legend(evidence: Evidence, references: Sequence[Reference] = ()) -> str:
    """What the cells of the tables show, leaving out what none of them has."""
    parts = [
        "Mean ± standard deviation (ddof 1) over n seeds of the runs' scores. Bold: the highest mean of its row and "
        "those that chance between seeds does not tell from it (Welch, all differences to the highest together at "
        "95 %); none where fewer than half of the others lie below it beyond chance, or where runs are missing."
    ]
    if references:
        parts += _about_references(evidence, references)
    if any(_never_filled(evidence, cell) for cell in evidence.steps):
        parts.append(f"{UNFILLED}: no table ever filled, so no strategy had anything to forget.")
    return " ".join(parts)


def _about_references(evidence: Evidence, references: Sequence[Reference]) -> list[str]:
    """What the published scores are, what the marks mean, and which strategies have no published score."""
    first, *others = references
    theirs = {cell: first.scores[cell] for cell in evidence.steps if cell in first.scores}
    if not theirs:
        return []
    shown = [each for each in others if any(cell in each.scores for cell in theirs)]
    parts = [f"Below: {first.name}'s{''.join(f', and those of {each.name}' for each in shown)}."]
    alike = [evidence.steps[cell] == (score.steps,) for cell, score in theirs.items()]
    if any(alike):
        where = "" if all(alike) else f", marked only where training was as long as {first.name}'s"
        parts.append(
            f"{ABOVE} {BELOW}: ours lies above or below {first.name}'s beyond the 95 % interval (Welch, each cell by "
            f"itself){where}."
        )
    else:
        parts.append(f"None is marked as above or below {first.name}'s, since training was not as long.")
    known = {cell.strategy for cell in theirs}
    envs = {cell.env for cell in theirs}
    new = dict.fromkeys(
        strategy_label(cell.strategy)
        for cell in evidence.steps
        if cell.env in envs and cell.strategy is not None and cell.strategy not in known
    )
    return parts + ([f"Not in {first.name}: {'; '.join(new)}."] if new else [])


def _never_filled(evidence: Evidence, cell: Cell) -> bool:
    """Whether no table of a finished cell ever filled."""
    if cell.capacity is None or evidence.scores(*cell) is None:
        return False
    return not evidence.filled(cell.env, cell.agent, cell.capacity)


def absence(evidence: Evidence, cell: Cell) -> str:
    """Why a cell has no score."""
    return MISSING if cell in evidence.steps else NOT_RUN


def entry(
    evidence: Evidence,
    cell: Cell,
    runs: Sequence[str],
    references: Sequence[Reference] = (),
    *,
    bold: bool = False,
    filled: bool = True,
    digits: int | None = None,
) -> Entry:
    """A cell of a table: its score, and below it the published ones."""
    scores = evidence.scores(*cell)
    published = [(each.prefix, score) for each in references if (score := each.scores.get(cell))]
    below = [f"{prefix}{score.mean:g} ± {score.std:g}" for prefix, score in published]
    hint = "runs: " + ", ".join(runs) if runs else ""
    if scores is None:
        return Entry(absence(evidence, cell), below, dim=True, hint=hint)
    first = references[0].scores.get(cell) if references else None
    mark = differs(scores, first, evidence.steps[cell]) + ("" if filled else UNFILLED)
    return Entry(score_text(scores, digits), below, bold, not filled, hint, mark)


def differs(scores: Array, theirs: Score | None, steps: Sequence[int]) -> str:
    """A mark where ours and theirs are further apart than chance between seeds explains, after equal training."""
    if theirs is None or tuple(steps) != (theirs.steps,):
        return ""
    gap = difference_from(scores, theirs.mean, theirs.std, theirs.seeds)
    return ABOVE if gap.above(0) else BELOW if gap.below(0) else ""
