"""Model files: safetensors, with a manifest in the header. Data and nothing else; loading never runs code."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from engram.errors import ModelFileError
from engram.memory.states import HASH_NAME
from engram.typing import Array

FORMAT = "engram"
VERSION = 1


class Model(NamedTuple):
    """What a model file holds."""

    agent: str
    description: dict[str, Any]
    state: dict[str, Any]


def write_model(path: Path, agent: str, description: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Write a model file whole or not at all: beside its place first, then moved there."""
    arrays, plain = split(state)
    manifest = {
        "version": VERSION,
        "agent": agent,
        "state_hash": HASH_NAME,
        "description": description,
        "plain": plain,
    }
    write_atomically(path, save(arrays, {FORMAT: json.dumps(manifest)}))


def read_model(path: Path) -> Model:
    """Read a model file, or say what is wrong with it."""
    if not path.is_file():
        raise ModelFileError(f"there is no model file at {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if FORMAT not in metadata:
                raise ModelFileError(f"{path} is a safetensors file, but not an Engram model")
            manifest = json.loads(metadata[FORMAT])
            if manifest["version"] > VERSION:
                raise ModelFileError(
                    f"{path} has format version {manifest['version']}, and this Engram reads up to {VERSION}; "
                    "upgrade: pip install -U engram-rl"
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        return Model(manifest["agent"], manifest["description"], join(arrays, manifest["plain"]))
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{path} is damaged or not a model file: {error}") from error
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ModelFileError(f"{path} is damaged: its manifest cannot be read ({error!r})") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file by new content such that a reader, or a power cut, sees the old or the new one, whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def split(state: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Array], dict[str, Any]]:
    """A nested state dict as arrays, by their paths, and the rest as plain data."""
    arrays: dict[str, Array] = {}
    plain: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = np.ascontiguousarray(value)
        elif isinstance(value, Mapping):
            below, plain[name] = split(value, f"{prefix}{name}/")
            arrays |= below
        else:
            plain[name] = value
    return arrays, plain


def join(arrays: Mapping[str, Array], plain: Mapping[str, Any]) -> dict[str, Any]:
    """The nested state dict that was split."""
    state: dict[str, Any] = json.loads(json.dumps(plain))
    for name, array in arrays.items():
        *path, last = name.split("/")
        place = state
        for part in path:
            place = place.setdefault(part, {})
        place[last] = array
    return state
