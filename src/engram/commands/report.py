"""`engram report` and `engram claims`: what a study's runs say."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional

from engram.paper.claims import CLAIMS
from engram.paper.reports import read_evidence, write_claims, write_report

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
    rules: bool = False  # say by which rule each was decided
    out: Path | None = None  # a file to write them to as well, as Markdown


def report(words: Sequence[str], console: Console) -> None:
    """Carry out `engram report`."""
    options = tyro.cli(Report, prog="engram report", args=words)
    path = write_report(options.study, options.out or options.study)
    console.print(f"the report is {path}; tables and figures lie beside it")


def claims(words: Sequence[str], console: Console) -> None:
    """Carry out `engram claims`."""
    options = tyro.cli(Claims, prog="engram claims", args=words)
    evidence = read_evidence(options.studies)
    table = Table(show_lines=True)
    for name in ("", "claim", "verdict", "because"):
        table.add_column(name)
    for claim in CLAIMS:
        verdict = claim.decide(evidence)
        text = f"{claim.text}\n[dim]{claim.rule}[/dim]" if options.rules else claim.text
        colour = COLOURS[verdict.word]
        table.add_row(str(claim.number), text, f"[{colour}]{verdict.word}[/{colour}]", verdict.why)
    console.print(table)
    if options.out is not None:
        write_claims(evidence, options.out)
        console.print(f"written to {options.out}")
