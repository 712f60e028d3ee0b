"""Files of arrays: safetensors with a JSON manifest in the header. They hold data only; loading runs no code."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from xxhash import xxh3_128

from engram.errors import ModelFileError, NewerFormatError
from engram.files.disk import write_atomically
from engram.files.rows import Rows
from engram.hashing import HASH_NAME
from engram.typing import Array

FORMAT = "engram"
VERSION = 1


def write_arrays(path: Path, manifest: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write arrays and a manifest. The file's only metadata entry is a line with a checksum, then the manifest.

    There is one entry because safetensors writes several in any order, and equal content must give equal bytes.
    """
    text = json.dumps({"version": VERSION, "state_hash": HASH_NAME, **manifest})
    write_atomically(path, save(dict(arrays), {FORMAT: f"{checksum(text, arrays)}\n{text}"}))


def read_arrays(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The manifest and the arrays of a file, after a check of its version and checksum."""
    if not path.is_file():
        raise ModelFileError(f"there is no model file at {path}")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if FORMAT not in metadata:
                raise ModelFileError(f"{path} is a safetensors file, but not an Engram model")
            signature, _, text = metadata[FORMAT].partition("\n")
            manifest = json.loads(text)
            if not isinstance(manifest, dict) or not isinstance(manifest.get("version"), int):
                raise ModelFileError(f"{path} is damaged: its manifest cannot be read")
            if manifest["version"] > VERSION:
                raise NewerFormatError(
                    f"{path} has format version {manifest['version']}, and this Engram reads up to {VERSION}; "
                    "upgrade: pip install -U engram-rl"
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    except (SafetensorError, OSError, TypeError, AttributeError, KeyError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged or not a model file: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: its manifest cannot be read ({error!r})") from error
    if signature != checksum(text, arrays):
        raise ModelFileError(f"{path} is damaged: its content does not match its checksum")
    return manifest, arrays


def checksum(text: str, arrays: Mapping[str, Array]) -> str:
    """XXH3 (128 bits) of a manifest and its arrays; it finds damage, not forgery."""
    digest = xxh3_128(text.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def split(state: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Array], dict[str, Any]]:
    """Split a nested state dict into arrays, named by their paths (a/b), and the rest as plain data."""
    arrays: dict[str, Array] = {}
    plain: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, np.ndarray):
            arrays[prefix + name] = np.ascontiguousarray(value)
        elif isinstance(value, Rows):
            arrays[prefix + name] = np.ascontiguousarray(value.array)
            plain[name] = {"rows_end": value.end}
        elif isinstance(value, Mapping):
            below, plain[name] = split(value, f"{prefix}{name}/")
            arrays |= below
        else:
            plain[name] = value
    return arrays, plain


def join(arrays: Mapping[str, Array], plain: Mapping[str, Any]) -> dict[str, Any]:
    """The nested state dict that `split` took apart."""
    state: dict[str, Any] = json.loads(json.dumps(plain))
    for name, array in arrays.items():
        *path, last = name.split("/")
        place = state
        for part in path:
            place = place.setdefault(part, {})
        rows = place.get(last)
        place[last] = Rows(rows["rows_end"], array) if isinstance(rows, dict) and "rows_end" in rows else array
    return state
