"""The paper's claims as tables: what became of each, and the rule by which it was decided."""

from collections.abc import Sequence
from typing import NamedTuple

from engram.lab.claims import FAILS, HOLDS, OPEN
from engram.lab.pages import page
from engram.paper.claims import Claim, Evidence

MARKS = {HOLDS: "✓", FAILS: "✗", OPEN: "?"}  # told apart without colours


class Tables(NamedTuple):
    """Of the same claims."""

    verdicts: page.Table
    rules: page.Table


def claims_blocks(claims: Sequence[Claim], evidence: Evidence) -> list[page.Block]:
    """A table of verdicts, and the rules behind them."""
    tables = claims_tables(claims, evidence)
    return [tables.verdicts, page.Folded("The rules", [tables.rules])]


def claims_tables(claims: Sequence[Claim], evidence: Evidence) -> Tables:
    """The verdicts, and the rules."""
    rows: list[list[str | page.Entry]] = []
    for claim in claims:
        verdict = claim.decide(evidence)
        word = page.Entry(f"{MARKS[verdict.word]} {verdict.word}", bold=True)
        rows.append([str(claim.number), claim.text, word, verdict.why])
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
    return Tables(page.Table(["", "claim", "verdict", "because"], rows, prose=True), rules)
