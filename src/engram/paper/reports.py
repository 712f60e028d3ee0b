"""Which report a folder gets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engram.files.disk import write_atomically
from engram.lab.pages.markdown import markdown
from engram.lab.pages.page import Page, Section
from engram.lab.pages.study import StudyReport
from engram.lab.results import Results
from engram.lab.study_folder import StudyFolder
from engram.paper.claims import CLAIMS, Evidence
from engram.paper.forgetting.report import ForgettingReport
from engram.paper.open.report import OpenReport
from engram.paper.stream.report import StreamReport, read_stream
from engram.paper.verdicts import claims_tables

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
