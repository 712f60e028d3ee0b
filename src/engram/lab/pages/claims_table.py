"""Claims as tables: the verdict on each, and the rule by which it was decided."""

from typing import NamedTuple

from engram.lab.evidence import Evidence
from engram.lab.pages import page
from engram.lab.verdicts import BEYOND, FAILS, FEW, HOLDS, OPEN, ClaimList

MARKS = {HOLDS: "✓", FAILS: "✗", OPEN: "?", BEYOND: "∅", FEW: "…"}  # readable without colours


class Tables(NamedTuple):
    """The two tables of a list of claims."""

    verdicts: page.Table
    rules: page.Table


def claims_blocks(claims: ClaimList, evidence: Evidence) -> list[page.Block]:
    """The table of verdicts, and folded below it the rules."""
    tables = claims_tables(claims, evidence)
    return [tables.verdicts, page.Folded("The rules", [tables.rules])]


def claims_tables(claims: ClaimList, evidence: Evidence) -> Tables:
    """The tables of verdicts and of rules."""
    rows: list[list[str | page.Entry]] = []
    for claim in claims.claims:
        verdict = claim.decide(evidence)
        word = page.Entry(f"{MARKS[verdict.word]} {verdict.word}", bold=True)
        rows.append([str(claim.number), claim.text, word, verdict.why])
    rules = [[str(claim.number), claim.rule] for claim in claims.claims]
    return Tables(
        page.Table(["", "claim", "verdict", "because"], rows, prose=True),
        page.Table(["", "rule"], rules, prose=True, note=claims.note),
    )
