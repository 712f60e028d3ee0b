"""Model files: everything that an agent is, in one safetensors file."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from engram.errors import InvalidInputError, ModelFileError
from engram.files.arrays import join, read_arrays, split, write_arrays
from engram.files.disk import is_file

MODEL = "model.safetensors"  # in a run's folder
# what reading a state dict of the wrong form raises
MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError, RuntimeError)


class Model(NamedTuple):
    """What a model file holds."""

    agent: str  # its name
    description: dict[str, Any]  # as `Agent.describe` gives it
    state: dict[str, Any]  # as `Agent.state_dict` gives it

    def check_widths(self, widths: Mapping[str, int]) -> None:
        """Raise KeyError or ValueError unless arrays, by path, have the number of columns that is expected."""
        for path, width in widths.items():
            array: Any = self.state
            for name in path.split("/"):
                array = array[name]
            if array.shape[1] != width:
                raise ValueError(f"{path} has {array.shape[1]} columns, the settings ask for {width}")


def as_path(path: Any) -> Path:
    """The path of a file, from text or a path."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str) or "\0" in os.fspath(path):
        raise InvalidInputError(f"path must be the path of a file, got {path!r:.100}")
    return Path(path)


def find_model(path: Any) -> Path:
    """The model file that is meant by its path, or by that of a run's folder."""
    given = as_path(path)
    if not given.is_dir():
        return given
    if not is_file(given / MODEL):
        how = f"; its run is not finished, go on with it: engram train --resume {shlex.quote(str(given))}"
        raise ModelFileError(f"{given} holds no {MODEL}{how if is_file(given / 'config.json') else ''}")
    return given / MODEL


def write_model(path: Path, agent: str, description: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write an agent's file."""
    arrays, plain = split(state)
    try:
        write_arrays(path, {"agent": agent, "description": description, "plain": plain}, arrays)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"settings, options and states of parts must be plain data and arrays of numbers to be saved: {error}"
        ) from error


def read_model(path: Path) -> Model:
    """Read an agent's file, or say what is wrong with it."""
    manifest, arrays = read_arrays(path)
    try:
        agent, description, plain = (manifest[name] for name in ("agent", "description", "plain"))
        if not (isinstance(agent, str) and isinstance(description, dict) and isinstance(plain, dict)):
            raise TypeError("agent, description and plain must be text and mappings")
        return Model(agent, description, join(arrays, plain))
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged: its manifest cannot be read ({error!r})") from error
