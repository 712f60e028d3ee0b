"""The files of a run by their names: which are its own, and what else may lie in its folder."""

import json
import re
from pathlib import Path
from typing import Any

from engram.errors import StorageError, UnusableRunError
from engram.files.disk import ASIDE, is_file, list_files, remove, storage_errors
from engram.files.file_names import TRACEBACK
from engram.runs.restoring import REMEDY

CONFIG = "config.json"
PRODUCTS = (CONFIG, "progress.jsonl", "meta.json", "model.safetensors", "result.json")  # in order of writing
NAME = rf"({'|'.join(map(re.escape, PRODUCTS))}|trace\.safetensors|(checkpoint|segment|trace)-.*\.safetensors)"
RUN_FILES = re.compile(NAME)
LEFT_OVER = re.compile(rf"\.({NAME}|lock\.json)\.\d+\.part")  # of a process that was killed while it wrote a file
LOGS = "logs"  # a folder for what is written for other programs; it can be made again from the run's own log
REPORT = "report"  # a folder for the run's page
OWN_FILES = re.compile(rf"{NAME}|{LOGS}|{REPORT}|{TRACEBACK}|lock|lock\.json|{ASIDE}\d+|\..*\.part")


def files_of_run(folder: Path) -> list[Path]:
    """Everything of a run in its folder, the config last; or what lies in the place of it."""
    with storage_errors("read", folder):
        if not folder.is_dir():
            return []
    found = [path for path in list_files(folder, "*") if RUN_FILES.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.name == CONFIG)


def holds_others(folder: Path) -> bool:
    """Whether there is anything in a folder that no run leaves there."""
    with storage_errors("read", folder):
        names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return any(not OWN_FILES.fullmatch(name) for name in names)


def tidy_up(folder: Path) -> None:
    """Delete what a killed process was writing; refuse anything else than files in the places of the run's."""
    for path in list_files(folder, ".*.part"):
        if LEFT_OVER.fullmatch(path.name) and is_file(path):
            remove(path)
    for path in files_of_run(folder):
        try:
            is_file(path)
        except StorageError as error:
            raise UnusableRunError(f"{error}; {REMEDY}") from error


def as_json(data: dict[str, Any]) -> str:
    """Data as indented JSON, with a newline at the end."""
    return json.dumps(data, indent=2) + "\n"
