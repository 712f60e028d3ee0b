"""`engram report` and `engram claims`: a study's page, and the verdicts on the paper's claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from tyro.conf import Positional

from engram.commands.options import parse
from engram.commands.screen import Console, Text
from engram.lab.reports import find_report, read_evidence, write_claims
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES

COLOURS = {"holds": "green", "does not hold": "red", "undecided": "yellow"}


@dataclass(frozen=True)
class Report:
    """Write a study's tables, figures and claims as one page, and its parts as files."""

    study: Positional[Path]  # the study's folder
    out: Path | None = None  # where to write; by default the study's folder itself


@dataclass(frozen=True)
class Claims:
    """Decide the paper's claims from the runs of one or more studies."""

    studies: Positional[tuple[Path, ...]]  # their folders
    rules: bool = False  # show the rule by which each was decided
    out: Path | None = None  # a file to write them to as well, as Markdown


def report(words: Sequence[str], console: Console) -> None:
    """Carry out `engram report`."""
    options = parse(Report, prog="engram report", words=words)
    path = find_report(options.study, options.out or options.study, STUDIES).write()
    console.print(f"the report is {path}; tables and figures lie beside it")


def claims(words: Sequence[str], console: Console) -> None:
    """Carry out `engram claims`."""
    options = parse(Claims, prog="engram claims", words=words)
    evidence = read_evidence(options.studies, STUDIES)
    table = Table(show_lines=True)
    for name in ("", "claim", "verdict", "because"):
        table.add_column(name)
    for claim in CLAIMS.claims:
        verdict = claim.decide(evidence)
        text = Text.assemble(f"{claim.text}\n", (claim.rule, "dim")) if options.rules else Text(claim.text)
        table.add_row(str(claim.number), text, Text(verdict.word, COLOURS[verdict.word]), verdict.why)
    console.print(table)
    if options.out is not None:
        write_claims(CLAIMS, evidence, options.out)
        console.print(f"written to {options.out}")
