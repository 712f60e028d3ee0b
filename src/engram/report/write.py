"""Which report a folder gets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engram.report.claims import CLAIMS, Evidence
from engram.report.forgetting import ForgettingReport
from engram.report.markdown import markdown
from engram.report.open import OpenReport
from engram.report.page import Page, Section
from engram.report.stream import StreamReport, read_stream
from engram.report.study import StudyReport
from engram.report.verdicts import claims_tables
from engram.studies.folder import StudyFolder
from engram.studies.store import Results
from engram.training.disk import write_atomically

KINDS = {"forgetting": ForgettingReport, "open": OpenReport}


def write_report(folder: Path, out: Path) -> Path:
    """Write the report of a study; return the path of its page."""
    name = StudyFolder(folder).name
    if name == "stream":
        return StreamReport(folder, out).write()
    return KINDS.get(name, StudyReport)(Results.read(folder), out).write()


def write_claims(evidence: Evidence, path: Path) -> None:
    """Write what became of all claims, and the rules, as Markdown."""
    tables = claims_tables(CLAIMS, evidence)
    page = Page("The paper's claims", [tables.verdicts, Section("The rules", [tables.rules])])
    write_atomically(path, markdown(page).encode())


def read_evidence(folders: Sequence[Path]) -> Evidence:
    """The results of these studies, for their claims."""
    stream = [folder for folder in folders if StudyFolder(folder).name == "stream"]
    studies = [Results.read(folder) for folder in folders if folder not in stream]
    return replace(read_stream(stream[0]) if stream else Evidence(), studies=studies)
