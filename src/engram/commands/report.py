"""`engram report` and `engram claims`: a study's page, and the verdicts on the paper's claims."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table
from tyro.conf import Positional

from engram.commands.options import parse
from engram.commands.screen import Console, Text
from engram.errors import InvalidInputError
from engram.files.disk import is_file
from engram.lab.pages.run_page import RunReport
from engram.lab.pages.tune_page import TuneReport
from engram.lab.reports import find_report, read_evidence, write_claims
from engram.lab.search_file import SEARCH_FILE
from engram.lab.study_folder import StudyFolder
from engram.lab.verdicts import BEYOND, FAILS, FEW, HOLDS, OPEN
from engram.paper.claims import CLAIMS
from engram.paper.registry import STUDIES
from engram.runs.folder import REPORT

COLOURS = {HOLDS: "green", FAILS: "red", OPEN: "yellow", BEYOND: "yellow", FEW: "dim"}


@dataclass(frozen=True)
class Report:
    """Write one page about a study, a search or single runs, with its tables and figures, and its parts as files."""

    folders: Positional[tuple[Path, ...]]  # that of a study or of a search, or those of one or more runs
    out: Path | None = (
        None  # where to write; by default a study's folder itself, or report/ in a run's or beside several
    )

    def write(self) -> Path:
        """Write the page; return its path."""
        if not self.folders:
            raise InvalidInputError("engram report needs a folder: that of a study, or those of one or more runs")
        first = self.folders[0]
        if len(self.folders) == 1 and is_file(first / SEARCH_FILE):
            return TuneReport.read(first, self.out or first).write()
        studies = [folder for folder in self.folders if is_file(folder / "study.json")]
        single = is_file(first / "config.json")
        if len(self.folders) == 1 and not studies and not single and list(first.glob("*/config.json")):
            raise InvalidInputError(f"{first} is not a run, but holds some; name those that you mean: {first}/…")
        if len(self.folders) == 1 and (studies or not single):
            return find_report(first, self.out or first, STUDIES).write()
        if studies:
            raise InvalidInputError(f"{studies[0]} is a study, which has a page of its own: engram report {studies[0]}")
        beside = first if len(self.folders) == 1 else first.absolute().parent
        return RunReport.read(self.folders, self.out or beside / REPORT).write()


@dataclass(frozen=True)
class Claims:
    """Decide the paper's claims from the runs of one or more studies."""

    studies: Positional[tuple[Path, ...]]  # their folders
    rules: bool = False  # show the rule by which each was decided
    out: Path | None = None  # a file to write them to as well, as Markdown


def report(words: Sequence[str], console: Console) -> None:
    """Carry out `engram report`."""
    options = parse(Report, prog="engram report", words=words)
    console.print(f"the report is {options.write()}; tables and figures lie beside it")


def _quoted(names: Sequence[str]) -> str:
    """`The study 'a'`, or `The studies 'a' and 'b'`."""
    quoted = [repr(name) for name in names]
    return f"The study {quoted[0]}" if len(quoted) == 1 else f"The studies {', '.join(quoted[:-1])} and {quoted[-1]}"


def claims(words: Sequence[str], console: Console) -> None:
    """Carry out `engram claims`."""
    options = parse(Claims, prog="engram claims", words=words)
    evidence = read_evidence(options.studies, STUDIES)
    names = [StudyFolder(folder).name for folder in options.studies]
    if not any(name in STUDIES and STUDIES[name].claims for name in names):
        theirs = ", ".join(name for name, study in STUDIES.items() if study.claims)
        console.print(
            f"{_quoted(names)} made no claims, so there is nothing to decide; the paper's claims are about its own "
            f"studies ({theirs}). What came of yours: engram report {' '.join(map(str, options.studies))}"
        )
        return
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
