"""Which report a folder gets."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engram.report.claims import Evidence
from engram.report.forgetting import ForgettingReport
from engram.report.open import OpenReport
from engram.report.stream import StreamReport, read_stream
from engram.report.study import StudyReport
from engram.studies.folder import StudyFolder
from engram.studies.store import Results

KINDS = {"forgetting": ForgettingReport, "open": OpenReport}


def write_report(folder: Path, out: Path) -> Path:
    """Write the report of a study; return the path of its page."""
    name = StudyFolder(folder).name
    if name == "stream":
        return StreamReport(folder, out).write()
    return KINDS.get(name, StudyReport)(Results.read(folder), out).write()


def read_evidence(folders: Sequence[Path]) -> Evidence:
    """The results of these studies, for their claims."""
    stream = [folder for folder in folders if StudyFolder(folder).name == "stream"]
    studies = [Results.read(folder) for folder in folders if folder not in stream]
    return replace(read_stream(stream[0]) if stream else Evidence(), studies=studies)
