"""Claims as a scoreboard: what was claimed, the verdict, what was found, and how often such a verdict is right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.pages.interval_bar import IntervalBar
from engram.lab.verdicts import BEYOND, FAILS, FEW, HOLDS, OPEN, Chance, Claim, ClaimList, Verdict, Word, in_words

MARKS: dict[Word, str] = {HOLDS: "✓", FAILS: "✗", OPEN: "?", BEYOND: "∅", FEW: "…"}  # readable without colours
KINDS: dict[Word, str] = {HOLDS: "good", FAILS: "bad", OPEN: "open", BEYOND: "dim", FEW: "dim"}  # of the style sheet
SENTENCES: dict[Word, tuple[str, str]] = {  # of one claim, and of several
    HOLDS: ("holds", "hold"),
    FAILS: ("does not hold", "do not hold"),
    OPEN: ("is undecided", "are undecided"),
    BEYOND: ("cannot be decided with so few runs", "cannot be decided with so few runs"),
    FEW: ("has too few runs", "have too few runs"),
}
WORLDS = {"alike": "where all strategies are alike", "exchanged": "where strategies are exchanged"}


BARS = "Bars: the dot and its line are what we find, with its 95 % interval; the field is where the claim has it."


@dataclass(frozen=True)
class Shares(page.Ornament):
    """How many claims came to each verdict, as a bar; the sentence beside it says the same."""

    counts: Mapping[Word, int]

    def html(self) -> str:
        """Parts as wide as they are frequent."""
        parts = (
            f'<span class="{KINDS[word]}" style="flex: {count}" title="{count}: {word}"></span>'
            for word, count in self.counts.items()
            if count
        )
        return f'<div class="shares" aria-hidden="true">{"".join(parts)}</div>'


@dataclass(frozen=True)
class Scoreboard:
    """The verdicts on a list of claims."""

    claims: ClaimList
    verdicts: Sequence[Verdict]  # one for each claim, in their order

    @classmethod
    def of(cls, claims: ClaimList, evidence: Evidence) -> "Scoreboard":
        """Every claim decided from the evidence."""
        return cls(claims, [claim.decide(evidence) for claim in claims.claims])

    @cached_property
    def counts(self) -> dict[Word, int]:
        """How many claims came to each word."""
        return {word: sum(verdict.word == word for verdict in self.verdicts) for word in MARKS}

    @property
    def parts(self) -> list[str]:
        """The counts in words: `2 hold`, `9 do not hold`."""
        return [f"{count} {SENTENCES[word][count > 1]}" for word, count in self.counts.items() if count]

    def sentence(self, claims: str = "claims") -> str:
        """The counts in a sentence; `claims` says whose they are."""
        if len(self.verdicts) == 1:
            return f"The claim {SENTENCES[self.verdicts[0].word][0]}."
        (word, count), *others = ((word, count) for word, count in self.counts.items() if count)
        if not others:
            if word == FAILS:
                return f"None of the {count} {claims} holds."
            return f"{'Both' if count == 2 else f'All {count}'} {claims} {SENTENCES[word][1]}."
        *first, last = self.parts
        return f"Of {len(self.verdicts)} {claims} {', '.join(first)}{' and ' if first else ''}{last}."

    @property
    def table(self) -> page.Table:
        """A row for each claim; its rule is folded below what was found."""
        rows = [self._row(claim, verdict) for claim, verdict in zip(self.claims.claims, self.verdicts, strict=True)]
        return page.Table(["claim", "the paper says", "verdict", "we find", "power of the rule"], rows, prose=True)

    @property
    def rules(self) -> page.Table:
        """The rule of each claim, for readers of a repository, to whom nothing is folded."""
        rows = [[str(claim.number), " ".join(filter(None, (claim.rule, claim.note)))] for claim in self.claims.claims]
        return page.Table(["claim", "rule"], rows, prose=True, note=self.claims.note)

    @property
    def details(self) -> list[page.Block]:
        """The table, and what holds for all rules."""
        rules = page.Folded("How claims are decided", [page.Text(self.claims.note)])
        bars = any(verdict.word != FEW and verdict.decisive is not None for verdict in self.verdicts)
        return [self.table, *([page.Text(BARS, note=True)] if bars else []), rules]

    @property
    def blocks(self) -> list[page.Block]:
        """The counts, in a sentence and as a bar, and the table."""
        return [page.Text(self.sentence()), Shares(self.counts), *self.details]

    def _row(self, claim: Claim, verdict: Verdict) -> list[str | page.Entry]:
        word = page.Entry(f"{MARKS[verdict.word]} {verdict.word}", bold=True, kind=KINDS[verdict.word])
        decisive = verdict.decisive if verdict.word != FEW else None
        bar = [IntervalBar(decisive.interval, decisive.aim)] if decisive is not None else []
        texts = [claim.rule, claim.note, f"{_capital(verdict.why)}."]
        rule = page.Folded("the rule, and what it rests on", [page.Text(text) for text in texts if text])
        found = page.Entry(verdict.headline, blocks=[*bar, rule])
        return [str(claim.number), page.Entry(claim.text, [claim.quote]), word, found, power(claim, verdict)]


def claims_blocks(claims: ClaimList, evidence: Evidence) -> list[page.Block]:
    """The scoreboard of some claims."""
    return Scoreboard.of(claims, evidence).blocks


def power(claim: Claim, verdict: Verdict) -> page.Entry:
    """How often the rule finds the claim in simulated runs: where it is true, and where it is not."""
    seeds = claim.enough_seeds if verdict.word == FEW and claim.enough_seeds else verdict.seeds
    true = _simulated(claim.power, "paper", seeds)
    if true is None:
        return page.Entry("not simulated", dim=True)
    numbers = "the paper's own numbers" if claim.printed else "numbers made so that it is true"
    below = [f"on {numbers}, {in_words(true.seeds, claim.unit)}"]
    for world, where in WORLDS.items():
        chance = _simulated(claim.power, world, true.seeds)
        if chance is not None:
            below.append(f"{chance.holds} of {chance.draws} {where}")
    return page.Entry(f"if true, found {true.holds} times of {true.draws}", below)


def _simulated(chances: Sequence[Chance], world: str, seeds: Mapping[str, int]) -> Chance | None:
    """The simulation with the most seeds that are not more than those.

    If all have more, that with the fewest; where it is not known how many there are, that with the most.
    """
    there = sorted((each for each in chances if each.world == world), key=lambda each: sum(each.seeds.values()))
    if not seeds:
        return there[-1] if there else None
    within = [each for each in there if all(seeds.get(name, 0) >= count for name, count in each.seeds.items())]
    found = within or there[:1]
    return found[-1] if found else None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
