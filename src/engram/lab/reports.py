"""The report of a study's folder, and the evidence that several folders hold."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, Self

from engram.files.disk import read_file, write_atomically
from engram.files.targets import check_replaceable
from engram.lab.evidence import Evidence
from engram.lab.grid import Study, load
from engram.lab.pages.claims_table import Scoreboard
from engram.lab.pages.markdown import markdown
from engram.lab.pages.page import Page, Section, Text
from engram.lab.pages.study_page import StudyReport
from engram.lab.study_folder import StudyFolder
from engram.lab.verdicts import ClaimList


class Report(Protocol):
    """What writes the page of a study."""

    @classmethod
    def read(cls, study: Study, folder: Path, out: Path) -> Self:
        """The report on what a folder holds, to be written to `out`."""

    def write(self) -> Path:
        """Write the page and its files; return the page's path."""

    @property
    def evidence(self) -> Evidence:
        """What claims are decided from."""


def find_report(folder: Path, out: Path, studies: Mapping[str, Study]) -> Report:
    """The report on a folder, by the study that it holds: one of those given, or any other."""
    name = StudyFolder(folder).name
    study = studies.get(name, Study(name, ""))
    kind: type[Report] = load(study.report) if study.report else StudyReport
    return kind.read(study, folder, out)


def read_evidence(folders: Sequence[Path], studies: Mapping[str, Study]) -> Evidence:
    """The results in these folders together."""
    return sum((find_report(folder, folder, studies).evidence for folder in folders), Evidence())


def check_claims_path(claims: ClaimList, path: Path) -> None:
    """Raise StorageError if verdicts that are written there would replace anything but earlier ones on these claims."""
    heading = f"# {claims.title}\n".encode()
    check_replaceable(path, lambda: read_file(path).startswith(heading), "no list of these claims")


def write_claims(claims: ClaimList, evidence: Evidence, path: Path) -> None:
    """Write the verdicts on claims, and their rules, as Markdown."""
    scores = Scoreboard.of(claims, evidence)
    page = Page(claims.title, [Text(scores.sentence()), scores.table, Section("The rules", [scores.rules])])
    write_atomically(path, markdown(page).encode())
