"""`engram report` and `engram claims`: a study's page, and the verdicts on the paper's claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro
from rich.table import Table
from tyro.conf import Positional

from engram.commands.screen import Console, Text
from engram.errors import InvalidInputError
from engram.files.disk import is_file
from engram.lab.pages.page import Block
from engram.lab.pages.run_page import RunReport
from engram.lab.reports import find_report, read_evidence, write_claims
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES

COLOURS = {"holds": "green", "does not hold": "red", "undecided": "yellow"}


@dataclass(frozen=True)
class Report:
    """Write one page about a study, with its tables, figures and claims, or about single runs, and its parts as files."""

    folders: Positional[tuple[Path, ...]]  # a study's folder, or those of one or more runs
    out: Path | None = None  # where to write; by default a study's folder itself, or report/ in a run's or beside several

    def write(self) -> Path:
        """Write the page; return its path."""
        if not self.folders:
            raise InvalidInputError("engram report needs a folder: that of a study, or those of one or more runs")
        first = self.folders[0]
        studies = [folder for folder in self.folders if is_file(folder / "study.json")]
        if len(self.folders) == 1 and (studies or not is_file(first / "config.json")):
            return find_report(first, self.out or first, STUDIES).write()
        if studies:
            raise InvalidInputError(f"{studies[0]} is a study, which has a page of its own: engram report {studies[0]}")
        beside = first if len(self.folders) == 1 else first.absolute().parent
        return RunReport.read(self.folders, self.out or beside / "report", memory_pictures).write()


@dataclass(frozen=True)
class Claims:
    """Decide the paper's claims from the runs of one or more studies."""

    studies: Positional[tuple[Path, ...]]  # their folders
    rules: bool = False  # show the rule by which each was decided
    out: Path | None = None  # a file to write them to as well, as Markdown


def report(words: Sequence[str], console: Console) -> None:
    """Carry out `engram report`."""
    options = tyro.cli(Report, prog="engram report", args=words)
    console.print(f"the report is {options.write()}; tables and figures lie beside it")


def memory_pictures(run: Path) -> list[Block]:
    """Pictures of what the memory of a finished run holds."""
    return []


def claims(words: Sequence[str], console: Console) -> None:
    """Carry out `engram claims`."""
    options = tyro.cli(Claims, prog="engram claims", args=words)
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
