"""Modules of the user's own, which register or define environments."""

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

from engram.envs.faults import is_wish_to_stop, said_by
from engram.errors import InvalidInputError


def import_own(module: str) -> ModuleType:
    """A module that is installed or is a file of the current folder; InvalidInputError where it cannot be imported."""
    with suppress(OSError):  # the current folder may have been deleted
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(module)
    except BaseException as error:  # whatever runs when it is imported
        if is_wish_to_stop(error):
            raise
        raise InvalidInputError(
            f"cannot import {module!r} for the environment: {said_by(error)}; give module:id or module:Class, the "
            "module being a file of the current folder (without .py) or an installed package"
        ) from error
