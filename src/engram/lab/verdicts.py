"""How a claim is decided: it is split into statements, each about a number that has an interval and an aim.

A claim holds if every statement that it needs is supported: its 95 % interval lies within its aim. As all of them must
be, none needs a correction for their number (an intersection–union test). It does not hold if any statement is refuted:
an interval lies outside its aim, at a level at which those of all statements of the claim together hold with 95 %
confidence (Bonferroni). Between the two it is undecided, if so many runs would have found a true claim to hold eight
times in ten, and otherwise it cannot be decided with them. Where a statement has fewer runs than the rule's minimum,
there is no verdict at all.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Literal

from engram.agents import label_of
from engram.envs.names import short_name
from engram.lab.evidence import Evidence
from engram.lab.quantity import Quantity
from engram.lab.statistics import Interval

ERROR = 0.05  # how often an interval, or all of a claim together, may miss the truth
ENOUGH = 0.8  # how often a rule has to find a true claim to hold; with less, its runs are too few to decide it
Word = Literal["holds", "does not hold", "undecided", "cannot be decided", "too few runs"]
HOLDS: Word = "holds"
FAILS: Word = "does not hold"
OPEN: Word = "undecided"
BEYOND: Word = "cannot be decided"  # with the seeds that were run: a true claim would too often not be found
FEW: Word = "too few runs"  # missing ones, or fewer than the rule's minimum
Aim = tuple[float, float]  # the bounds between which a number should lie
ABOVE_ZERO: Aim = (0.0, inf)
Seeds = Mapping[str, int]  # by agent, the smallest number of runs of a cell


@dataclass(frozen=True)
class Statement:
    """A part of a claim."""

    quantity: Quantity
    interval: Interval  # of the number, 95 %
    aim: Aim = ABOVE_ZERO
    supported: bool = False
    refuted: bool = False
    needed: bool = True  # for the claim to hold; otherwise it can only speak against it
    seeds: Seeds = field(default_factory=dict)  # behind it

    @classmethod
    def measured(
        cls,
        quantity: Quantity,
        interval: Callable[..., Interval],
        seeds: Seeds,
        *,
        aim: Aim = ABOVE_ZERO,
        among: int = 1,
        tries: int = 1,
        needed: bool = True,
    ) -> "Statement":
        """A statement from the number's interval, which is called with a level.

        `among` so many statements of the claim, each may refute it. In `tries` places it is tried, and one would do.
        """
        inside, outside = interval(level=1 - ERROR / tries), interval(level=1 - ERROR / among)
        return cls(
            quantity,
            interval(level=0.95),
            aim,
            supported=inside.above(aim[0]) and inside.below(aim[1]),
            refuted=outside.below(aim[0]) or outside.above(aim[1]),
            needed=needed,
            seeds=seeds,
        )

    @property
    def said(self) -> str:
        """What was measured, in plain words."""
        return self.quantity.said(self.interval)

    @property
    def contrary(self) -> bool:
        """Whether the 95 % interval, taken by itself, lies outside its aim."""
        return self.interval.below(self.aim[0]) or self.interval.above(self.aim[1])

    @property
    def margin(self) -> float:
        """How far the estimate lies within its aim, in halves of the interval's width; negative outside."""
        inside = min(self.interval.estimate - self.aim[0], self.aim[1] - self.interval.estimate)
        half = (self.interval.high - self.interval.low) / 2
        return inside / half if half > 0 else inf if inside > 0 else -inf


@dataclass(frozen=True)
class Findings:
    """What a rule found in the evidence."""

    statements: Sequence[Statement] = ()
    lacking: Sequence[str] = ()  # the cells and comparisons that have no runs
    left_out: Sequence[str] = ()  # those that cannot tell strategies apart, and why: no table ever filled

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(
            (*self.statements, *other.statements),
            tuple(dict.fromkeys((*self.lacking, *other.lacking))),
            tuple(dict.fromkeys((*self.left_out, *other.left_out))),
        )


@dataclass(frozen=True)
class Chance:
    """How often a rule came to each word on data drawn from a known world."""

    world: str  # "paper": the claim is true there; "alike", "exchanged": it is not
    seeds: dict[str, int]  # runs per cell, by agent
    draws: int
    holds: int
    fails: int

    @property
    def share(self) -> float:
        """Of the draws, in which the claim came out as holding."""
        return self.holds / self.draws


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds, and why."""

    word: Word
    headline: str  # the finding in plain words, with its interval
    why: str  # the statements that led to the word, with their intervals
    statements: tuple[Statement, ...] = ()
    lacking: tuple[str, ...] = ()  # the cells and comparisons that have too few runs
    seeds: dict[str, int] = field(default_factory=dict)  # by agent, the smallest number of runs of a cell

    @property
    def decisive(self) -> Statement | None:
        """The statement that the headline is about: the strongest against a claim, or the weakest for it."""
        return _decisive(self.word, self.statements)


@dataclass(frozen=True)
class Claim:
    """A claim and the rule by which it is decided."""

    number: int
    text: str
    quote: str  # what the paper says, word for word, and where
    rule: str
    studies: tuple[str, ...]  # the names of those from which it is decided
    find: Callable[[Evidence], Findings]
    least_seeds: int  # runs of every cell without which there is no verdict
    note: str = ""  # what to know about the rule: where the paper's own numbers do not support the sentence, say
    power: tuple[Chance, ...] = ()  # how often the rule is right, simulated
    unit: str = "seed"  # what a run is numbered by
    printed: bool = True  # the paper's numbers, from which that is simulated; if not, some were made that make it true

    def decide(self, evidence: Evidence) -> Verdict:
        """The verdict on the claim."""
        found = self.find(evidence)
        few = [each for each in found.statements if min(each.seeds.values(), default=0) < self.least_seeds]
        lacking = [
            *found.lacking,
            *(
                f"{each.quantity.measured(each.interval)}: {in_words(each.seeds, self.unit)}, {self.least_seeds} needed"
                for each in few
            ),
        ]
        verdict = judge([each for each in found.statements if each not in few], lacking, found.left_out)
        if verdict.word == FEW and self.enough_seeds:
            takes = f"; to decide it takes {in_words(self.enough_seeds, self.unit)} of every cell"
            return replace(verdict, headline=verdict.headline + takes, why=verdict.why + takes)
        if verdict.word == OPEN and verdict.statements and self.too_few(verdict.seeds):
            enough = in_words(self.enough_seeds, self.unit)
            could = f"{enough} could" if self.enough_seeds else "nor can any number simulated"
            beyond = f"; {in_words(verdict.seeds, self.unit)} cannot decide it, {could}"
            return replace(verdict, word=BEYOND, headline=verdict.headline + beyond, why=verdict.why + beyond)
        return verdict

    @property
    def enough_seeds(self) -> dict[str, int]:
        """The smallest simulated numbers of runs with which a true claim is found often enough; empty for none."""
        found = [each for each in self.power if each.world == "paper" and each.share >= ENOUGH]
        return min((each.seeds for each in found), key=lambda seeds: sum(seeds.values()), default={})

    def too_few(self, seeds: Seeds) -> bool:
        """Whether with so many runs a true claim is found too seldom; without a simulation nobody knows."""
        paper = [each for each in self.power if each.world == "paper"]
        within = [each for each in paper if all(seeds.get(name, 0) >= count for name, count in each.seeds.items())]
        return bool(paper) and not any(each.share >= ENOUGH for each in within)


@dataclass(frozen=True)
class ClaimList:
    """Claims that belong together, as those of one paper do."""

    title: str  # of their section on a page
    claims: tuple[Claim, ...]
    note: str = ""  # below their rules
    source: str = ""  # where they are made, in words
    address: str = ""  # of that source
    about: str = ""  # what its words mean, for those who have not read it


def judge(statements: Sequence[Statement], lacking: Sequence[str] = (), left_out: Sequence[str] = ()) -> Verdict:
    """The verdict on the statements that a claim consists of.

    Some may lack their evidence, because runs are missing; then the claim can be refuted, but not hold. Others are
    left out, because in their cells no strategy had anything to do.
    """
    word = word_of(statements, lacking)
    needed = [each for each in statements if each.needed]
    if word == FAILS:
        why = _listed([each for each in statements if each.refuted], "speaks against it")
    elif word == FEW:
        why = _shortened(lacking) + (f"; {_listed(needed, 'so far')}" if needed else "")
    elif word == HOLDS:
        why = _listed(needed, "supported")
    elif needed:
        why = _listed([each for each in needed if not each.supported], "not settled")
    else:
        why = "there is nothing to decide it from"
    note = f" (not counted: {_shortened(left_out)})" if left_out else ""
    decisive = _decisive(word, statements)
    headline = f"Too few runs: {lacking[0]}" if word == FEW else _capital(decisive.said if decisive else why + note)
    if word == OPEN and decisive is not None and decisive.contrary:
        headline += f"; that alone is within chance, as {len(statements)} such numbers were looked at"
    seeds = fewest(each.seeds for each in statements)
    return Verdict(word, headline, why + note, tuple(statements), tuple(lacking), seeds)


def word_of(statements: Sequence[Statement], lacking: Sequence[str]) -> Word:
    """What follows from statements, and from evidence that is lacking."""
    needed = [each for each in statements if each.needed]
    if any(each.refuted for each in statements):
        return FAILS
    if lacking:
        return FEW
    return HOLDS if needed and all(each.supported for each in needed) else OPEN


def one_of(statements: Sequence[Statement]) -> Statement:
    """One statement for several places of which one would do: the best of them, refuted only if all are.

    Each has to be measured with as many `tries` as there are places.
    """
    best = max(statements, key=lambda each: (each.supported, each.margin))
    return replace(
        best, refuted=all(each.refuted for each in statements), seeds=fewest(each.seeds for each in statements)
    )


def fewest(seeds: Iterable[Seeds]) -> dict[str, int]:
    """Of several numbers of runs the smallest, by agent."""
    found: dict[str, int] = {}
    for each in seeds:
        for agent, count in each.items():
            found[agent] = min(found.get(agent, count), count)
    return found


def in_words(seeds: Seeds, unit: str = "seed") -> str:
    """Numbers of runs as a sentence has them: `5 seeds`, `MFEC 20 and NEC 5 seeds`."""
    counts = set(seeds.values())
    if len(counts) <= 1:
        count = counts.pop() if counts else 0
        return f"{count} {unit}{'s' * (count != 1)}"
    return f"{' and '.join(f'{label_of(agent)} {count}' for agent, count in seeds.items())} {unit}s"


def place_label(env: str, agent: str) -> str:
    """An environment and an agent as tables and sentences name them: `CartPole, NEC`."""
    return f"{short_name(env)}, {label_of(agent)}"


def _decisive(word: Word, statements: Sequence[Statement]) -> Statement | None:
    if word == FAILS:
        among = [each for each in statements if each.refuted]
    else:
        needed = [each for each in statements if each.needed]
        among = [each for each in needed if not each.supported] or needed
    return min(among, key=lambda each: each.margin, default=None)


def _listed(statements: Sequence[Statement], what: str) -> str:
    """The first three with their intervals, and how many more there are."""
    more = f"; and {len(statements) - 3} more" if len(statements) > 3 else ""
    return f"{what}: {'; '.join(each.said for each in statements[:3])}{more}"


def _shortened(parts: Sequence[str]) -> str:
    return "; ".join(parts[:3]) + (f"; and {len(parts) - 3} more" if len(parts) > 3 else "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
