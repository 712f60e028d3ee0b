"""What a study found, in plain words made from its scores."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

from engram.agents import label_of
from engram.files.disk import read_file
from engram.lab.grid import Task
from engram.lab.labels import strategy_in_words, strategy_label
from engram.lab.pages.block import Block
from engram.lab.pages.numbers import score_number
from engram.lab.pages.wording import counted, listed, number_in_words, seeds_in_words, sentence, some_of
from engram.lab.ranking import Comparison

FEW_NAMES = 4  # of strategies, up to which they are named
FEW_PLACES = 3  # environments and agents up to which the finding of each is in the first sentence
HARDLY = 0.2  # of the way from having learned nothing to solved
NO_TABLE = "no table ever filled, so nothing had to be forgotten and all strategies are the same"
ALIKE = "no strategy differs from another beyond chance"


@dataclass(frozen=True)
class Finding:
    """The one sentence that a page begins with, those that go into detail, and when the first says "above".

    `short` says the first in a line, for a list of findings or a picture; empty where the headline is short itself.
    """

    headline: str
    details: Sequence[str] = field(default_factory=tuple)
    rule: str = "it compares means over sizes, all pairs of strategies together at 95 %."
    short: str = ""


def read_finding(path: Path, *, short: bool = False) -> str:
    """The sentence that a page begins with, or its short form; empty for a page without one."""
    found = re.search(r'<p class="finding"(?: data-short="(.*?)")?>(.*?)</p>', read_file(path).decode())
    text = (short and found[1]) or found[2] if found else ""
    return unescape(text).replace("\N{NO-BREAK SPACE}", " ")


def find(blocks: Sequence[Block], tasks: Mapping[str, Task] | None = None) -> Finding:
    """What the strategies of a study came to, all environments and agents together."""
    if not blocks:
        return Finding("No agent of this study has a memory, so there is nothing to forget.")
    if len(blocks) <= FEW_PLACES:
        told = [(block, text) for block in blocks for text in (_detail(block), _left_out(block)) if text]
        details = [sentence(f"{_place(block, blocks)}: {text}") for block, text in told]
        hardly = _hardly_learned(blocks, tasks or {})
        short = f"{hardly[0].partition(':')[0]}." if hardly else _each(blocks, _short_clause)
        return Finding(" ".join([*hardly, _each(blocks, _clause)]), details, short=short)
    return Finding(_tally(blocks), [sentence(f"{_place(block, blocks)}: {_clause(block)}") for block in blocks])


def _hardly_learned(blocks: Sequence[Block], tasks: Mapping[str, Task]) -> list[str]:
    """A sentence for each environment in which no strategy comes far from what one scores who has learned nothing."""
    found = []
    for env, task in tasks.items():
        there = [(block, each) for block in blocks if block.env == env and (each := block.comparison) is not None]
        highest = max((each.mean(each.order[0]) for _, each in there), default=task.solved)
        if (highest - task.nothing) / (task.solved - task.nothing) < HARDLY:
            digits = there[0][0].digits
            best, nothing, solved = (score_number(each, digits) for each in (highest, task.nothing, task.solved))
            found.append(
                f"{there[0][0].env_name} is hardly learned: the highest mean over sizes is {best}, where {nothing} is "
                f"what an agent scores that never reaches the goal, and {solved} counts as solved."
            )
    return found


def _each(blocks: Sequence[Block], say: Callable[[Block], str]) -> str:
    """One sentence for all places; those of which the same can be said are named together."""
    clauses: dict[str, list[Block]] = {}
    for block in blocks:
        clauses.setdefault(say(block), []).append(block)
    envs, agents = ({getattr(block, name) for block in blocks} for name in ("env", "agent"))
    parts = []
    for clause, where in clauses.items():
        names = listed([block.env_name for block in where])
        if len(agents) > 1:
            labels = [label_of(block.agent) for block in where]
            names = (
                f"{where[0].env_name} with {listed(labels)}"
                if len(envs) == 1
                else listed([f"{block.env_name} with {label_of(block.agent)}" for block in where])
            )
        parts.append(f"in {names}, {clause}")
    if len(envs) == 1 and len(parts) > 1:  # the environment is named once
        head, *tail = parts
        parts = [head, *(part.replace(f"in {blocks[0].env_name} ", "", 1) for part in tail)]
    return sentence("; ".join(parts))


def _tally(blocks: Sequence[Block]) -> str:
    """In how many places strategies differ, and which is highest how often."""
    compared = [(block, block.comparison) for block in blocks if block.comparison is not None]
    if not compared:
        return sentence(f"{NO_TABLE}, or runs are missing")
    decided = [each for _, each in compared if any(each.above.values())]
    count = counted(len(compared), "pair") + " of environment and agent"
    if not decided:
        seeds = {n for _, each in compared for n in each.seeds}
        if all(is_too_few(each) for _, each in compared):
            return sentence(f"{_too_few(seeds)} in any of {count}")
        return sentence(
            f"in none of {count} does a strategy differ from another beyond chance ({seeds_in_words(seeds)})"
        )
    wins: dict[str, int] = {}
    for each in decided:
        if each.above[each.order[0]]:
            for name in each.leaders:
                wins[name] = wins.get(name, 0) + 1
    ranked = sorted(wins.items(), key=lambda item: -item[1])
    highest = listed([f"{strategy_in_words(name)} in {number_in_words(times)}" for name, times in ranked])
    where = (
        f"in {some_of(len(decided), len(compared), 'pair')} of environment and agent strategies differ beyond chance"
    )
    return sentence(f"{where}" + (f"; highest, and above at least one other, is {highest}" if wins else ""))


def _clause(block: Block) -> str:
    """What can be said of one place, without its name."""
    comparison = block.comparison
    if comparison is None:
        return _nothing_to_compare(block)
    if comparison.all_the_same:
        score = score_number(comparison.mean(comparison.order[0]), block.digits)
        return f"every run scores {score}, whatever the strategy"
    if is_too_few(comparison):
        return _too_few(comparison.seeds)
    return _ranking(comparison) if any(comparison.above.values()) else ALIKE


def _short_clause(block: Block) -> str:
    """What can be said of one place in a few words."""
    comparison = block.comparison
    if comparison is None or comparison.all_the_same or is_too_few(comparison) or not any(comparison.above.values()):
        return _clause(block)
    first, others, below = _who(comparison), _others(comparison), len(comparison.above[comparison.order[0]])
    if below == len(others):
        them = strategy_label(others[0]) if below == 1 else f"the other {number_in_words(below)} strategies"
        return f"{first} above {them}"
    return f"{first} highest" if below >= len(others) - below else "no strategy is ahead"


def _ranking(comparison: Comparison) -> str:
    """Which strategy is highest, and which others it is above."""
    first, others, below = _who(comparison), _others(comparison), comparison.above[comparison.order[0]]
    if len(below) == len(others):
        them = _labels(others) if len(others) <= FEW_NAMES else f"each of {number_in_words(len(others))} others"
        return f"{first} above {them}"
    alike = [name for name in others if name not in below]
    if len(below) >= len(alike):
        return f"{first} highest: above {_labels(below)}, within chance of {_labels(alike)}"
    pairs = [f"{strategy_label(name)} above {_labels(them)}" for name, them in comparison.above.items() if them]
    return f"no strategy is ahead: all that can be told from chance is {listed(pairs)}"


def _who(comparison: Comparison) -> str:
    """The strategy with the highest mean and its verb; several, if they have the very same."""
    names = [strategy_in_words(name) for name in comparison.leaders]
    return f"{names[0]} scores" if len(names) == 1 else f"{listed(names)}, level, score"


def _others(comparison: Comparison) -> list[str]:
    """The strategies with lower means, the highest of them first."""
    return [name for name in comparison.order if name not in comparison.leaders]


def _detail(block: Block) -> str:
    """How far the highest lies above the next, and at how many sizes."""
    comparison = block.comparison
    if comparison is None or comparison.all_the_same or is_too_few(comparison):
        return ""
    if not comparison.above[comparison.order[0]]:
        return ""
    first, second = comparison.order[0], _others(comparison)[0]
    gap = comparison.gap(first, second)
    low, estimate, high = (score_number(each, block.digits) for each in gap)
    sizes, higher = len(comparison.sizes), len(comparison.higher_at(first, second))
    over = f"the mean over {counted(sizes, 'size')} at which tables filled" if sizes > 1 else "at the one size there is"
    alone = len(comparison.leaders) == 1
    at_sizes = f", and is the higher of the two at {number_in_words(higher)} of {number_in_words(sizes)}"
    return (
        f"{_labels(comparison.leaders)} {'lies' if alone else 'lie'} {estimate} above {strategy_label(second)}, the "
        f"next (95 % interval {low} to {high}, all pairs of strategies together; {over}, "
        f"{seeds_in_words(comparison.seeds)}){at_sizes if alone and sizes > 1 else ''}"
    )


def _left_out(block: Block) -> str:
    """Which strategies are not compared because they were not run at the same sizes; empty without any."""
    comparison = block.comparison
    names = [] if comparison is None else [name for name in block.strategies if name not in comparison.scores]
    if not names:
        return ""
    one = len(names) == 1
    return (
        f"{_labels(names)} {'was' if one else 'were'} run at other sizes, so {'it is' if one else 'they are'} left out"
    )


def is_too_few(comparison: Comparison) -> bool:
    """Whether there are too few seeds to tell any strategy from another."""
    first, second = comparison.order[:2]
    return not comparison.gap(first, second).bounded


def _too_few(seeds: set[int]) -> str:
    fewest, most = min(seeds), max(seeds)
    count = counted(most, "seed") if fewest == most else f"{number_in_words(fewest)} to {counted(most, 'seed')}"
    return f"{count} {'says' if most == 1 else 'say'} little: no strategy can be told from another"


def _nothing_to_compare(block: Block) -> str:
    if not block.complete:
        return "no cell has all its runs"
    if not block.filled_sizes:
        return NO_TABLE
    if len(block.strategies) < 2:
        return f"there is one strategy only, {strategy_label(block.strategies[0])}"
    return "runs are missing at every size at which tables filled"


def _place(block: Block, blocks: Sequence[Block]) -> str:
    several = len({each.env for each in blocks}) > 1
    return block.place if several else label_of(block.agent)


def _labels(names: Sequence[str]) -> str:
    return listed([strategy_label(name) for name in names])
