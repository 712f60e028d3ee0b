"""The studies of this package by name. A folder with a `sweep.py` that defines `STUDY` is a study."""

from importlib import import_module
from pkgutil import iter_modules

import engram.paper
from engram.lab.grid import Study


def study_folders() -> list[str]:
    """The names of the folders of studies, in alphabetical order."""
    return sorted(found.name for found in iter_modules(engram.paper.__path__) if found.ispkg)


STUDIES: dict[str, Study] = {
    study.name: study for study in (import_module(f"engram.paper.{name}.sweep").STUDY for name in study_folders())
}
