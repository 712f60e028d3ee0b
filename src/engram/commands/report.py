"""`engram report`: one page of a study, of a search or of single runs."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from engram.commands.options import parse
from engram.commands.screen import Console
from engram.errors import InvalidInputError, RunFolderError
from engram.files.disk import is_file
from engram.lab.pages.finding import read_finding
from engram.lab.pages.report_folder import check_page_folder
from engram.lab.pages.run_page import RunReport, usual_folder
from engram.lab.pages.tune_page import TuneReport
from engram.lab.reports import find_report
from engram.lab.result_files import FILES
from engram.lab.search_file import SEARCH_FILE
from engram.lab.study_folder import STUDY_FILE, StudyFolder
from engram.paper.registry import STUDIES


@dataclass(frozen=True)
class Report:
    """Write one page about a study, a search or single runs, with its tables and figures, and its parts as files."""

    folders: Positional[tuple[Path, ...]]  # that of a study or of a search, or those of one or more runs
    out: Path | None = None  # where to write; by default a study's folder itself, or a new one in or beside the runs

    def write(self) -> Path:
        """Write the page; return its path."""
        if not self.folders:
            raise InvalidInputError("engram report needs a folder: that of a study, or those of one or more runs")
        first = self.folders[0]
        if len(self.folders) == 1 and is_file(first / SEARCH_FILE):
            return TuneReport.read(first, self.out or first).write()
        studies = [folder for folder in self.folders if is_file(folder / STUDY_FILE)]
        single = is_file(first / "config.json")
        if len(self.folders) == 1 and not studies and not single and list(first.glob("*/config.json")):
            raise InvalidInputError(f"{first} is not a run, but holds some; name those that you mean: {first}/…")
        if len(self.folders) == 1 and (studies or not single):
            found = find_report(first, self.out or first, STUDIES)
            if self.out is not None:
                check_study_page(first, self.out)
            return found.write()
        if studies:
            alone = shlex.join(["engram", "report", str(studies[0])])
            raise InvalidInputError(f"{studies[0]} is a study, which has a page of its own: {alone}")
        return RunReport.read(self.folders, self.out or usual_folder(self.folders)).write()


def check_study_page(folder: Path, out: Path) -> None:
    """Raise RunFolderError if a study's page would replace that of another study, or what is no page of a study."""
    there, study = StudyFolder(out).name, StudyFolder(folder).name
    if there == "none":
        check_page_folder(out, about="", also=FILES)
    elif there != study:
        raise RunFolderError(f"{out} holds the study {there!r}, not {study!r}; choose another folder with --out")


def report(words: Sequence[str], console: Console) -> None:
    """Carry out `engram report`."""
    options = parse(Report, prog="engram report", words=words)
    path = options.write()
    if finding := read_finding(path):
        console.print(finding)
    console.print(f"the report is {path}; tables and figures lie beside it")
