"""How a claim is decided: it is split into statements, each with an interval that supports it, refutes it or neither.

A claim holds if every statement that it needs is supported, does not hold if any statement is refuted, and is
undecided otherwise. All intervals of one kind within a claim hold together with 95 % confidence (Bonferroni), so that
a claim with many statements is not refuted by chance.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from engram.agents import label_of
from engram.envs.names import short_name
from engram.lab.evidence import Evidence
from engram.lab.labels import strategy_label
from engram.lab.statistics import Interval, difference, pooled_difference
from engram.typing import Array

CONFIDENCE = 0.95
Word = Literal["holds", "does not hold", "undecided"]
HOLDS: Word = "holds"
FAILS: Word = "does not hold"
OPEN: Word = "undecided"


@dataclass(frozen=True)
class Statement:
    """A part of a claim."""

    text: str
    interval: Interval | None = None  # of a number that should be above 0
    supported: bool = False
    refuted: bool = False
    needed: bool = True  # for the claim to hold; otherwise it can only speak against it

    @classmethod
    def positive(cls, text: str, interval: Interval, *, needed: bool = True) -> "Statement":
        """Supported if the whole interval lies above 0, refuted if it lies below."""
        return cls(text, interval, interval.above(0), interval.below(0), needed)


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and why."""

    word: Word
    why: str
    statements: tuple[Statement, ...] = ()
    lacking: tuple[str, ...] = ()  # the cells and comparisons that have no runs


@dataclass(frozen=True)
class Claim:
    """A claim and the rule by which it is decided."""

    number: int
    text: str
    rule: str
    studies: tuple[str, ...]  # the names of those from which it is decided
    decide: Callable[[Evidence], Verdict]


@dataclass(frozen=True)
class ClaimList:
    """Claims that belong together, as those of one paper do."""

    title: str  # of their section on a page
    claims: tuple[Claim, ...]
    note: str = ""  # below their rules


def judge(statements: Sequence[Statement], lacking: Sequence[str] = (), left_out: Sequence[str] = ()) -> Verdict:
    """The verdict on the statements that a claim consists of.

    Some may lack their evidence, because runs are missing; then the claim can be refuted, but not hold. Others are
    left out, because they rest on tables that never filled.
    """
    verdict = _judge(statements, lacking)
    note = f" (not counted, as no table ever filled: {'; '.join(left_out)})" if left_out else ""
    return replace(verdict, why=verdict.why + note, lacking=tuple(lacking))


def _judge(statements: Sequence[Statement], lacking: Sequence[str]) -> Verdict:
    against = [each for each in statements if each.refuted]
    needed = [each for each in statements if each.needed]
    unsettled = [each for each in needed if not each.supported]
    if against:
        return Verdict(FAILS, _listed(against, "speaks against it"), tuple(statements))
    if lacking:
        measured = [each for each in statements if each.interval is not None]
        so_far = f"; {_listed(measured, 'so far')}" if measured else ""
        return Verdict(OPEN, _shortened(lacking) + so_far, tuple(statements))
    if not needed:
        return Verdict(OPEN, "there is nothing to decide it from", tuple(statements))
    if unsettled:
        return Verdict(OPEN, _listed(unsettled, "not settled"), tuple(statements))
    return Verdict(HOLDS, _listed(needed, "supported"), tuple(statements))


def _listed(statements: Sequence[Statement], what: str) -> str:
    """The first three with their intervals, and how many more there are."""
    shown = [each.text + ("" if each.interval is None else f": {each.interval:.3g}") for each in statements[:3]]
    more = f", and {len(statements) - 3} more" if len(statements) > 3 else ""
    return f"{what}: {'; '.join(shown)}{more}"


def _shortened(parts: Sequence[str]) -> str:
    return "; ".join(parts[:3]) + (f"; and {len(parts) - 3} more" if len(parts) > 3 else "")


def share(count: int) -> float:
    """The level that each of so many intervals needs for all of them to hold together with 95 % confidence."""
    return 1 - (1 - CONFIDENCE) / max(count, 1)


@dataclass(frozen=True)
class Column:
    """Cells of one environment and agent in which a strategy is claimed to be best."""

    env: str
    agent: str
    sizes: Sequence[int]


def best(evidence: Evidence, strategy: str, rivals: Sequence[str], columns: Iterable[Column]) -> Verdict:
    """The verdict on the claim that a strategy is best in all these cells.

    A rival that is better in any one of them (all comparisons together at 95 %) refutes it. For it to hold, the
    strategy must also be better than each rival in the mean over the cells. Cells in which no table ever filled do
    not count.
    """
    cells, lacking, left_out = [], [], []
    for column in columns:
        for size in column.sizes:
            where = f"{place_label(column.env, column.agent)}, {size:,}"
            scores = {name: evidence.scores(column.env, column.agent, name, size) for name in (strategy, *rivals)}
            there = {name: values for name, values in scores.items() if values is not None}
            if len(there) < len(scores):
                absent = ", ".join(strategy_label(name) for name in scores if name not in there)
                lacking.append(f"{where}: no runs of {absent}")
            elif not evidence.filled(column.env, column.agent, size):
                left_out.append(where)
            else:
                cells.append((where, there))
    return judge(
        [
            *_not_beaten(strategy, rivals, cells),
            *(
                Statement.positive(
                    f"{strategy_label(strategy)} above {strategy_label(rival)} in the mean over {len(cells)} cells",
                    pooled_difference(
                        [(there[strategy], there[rival]) for _, there in cells], level=share(len(rivals))
                    ),
                )
                for rival in rivals
                if cells
            ),
        ],
        lacking,
        left_out,
    )


def _not_beaten(
    strategy: str, rivals: Sequence[str], cells: Sequence[tuple[str, dict[str, Array]]]
) -> Iterable[Statement]:
    """One statement for each rival and cell, which can only refute the claim."""
    level = share(len(cells) * len(rivals))
    for where, there in cells:
        for rival in rivals:
            interval = difference(there[strategy], there[rival], level=level)
            text = f"{strategy_label(strategy)} above {strategy_label(rival)} ({where})"
            yield Statement.positive(text, interval, needed=False)


def place_label(env: str, agent: str) -> str:
    """An environment and an agent as tables and sentences name them: `CartPole, NEC`."""
    return f"{short_name(env)}, {label_of(agent)}"
