"""Files of arrays: safetensors with a JSON manifest in the header. They hold data only; loading runs no code."""

import json
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from xxhash import xxh3_128

from engram.checks import LARGE, in_bytes
from engram.errors import InvalidInputError, ModelFileError, NewerFormatError, TooLargeError
from engram.files.disk import write_atomically
from engram.files.pieces import Pieces
from engram.files.rows import Rows
from engram.hashing import HASH_NAME
from engram.machine import available_memory
from engram.typing import Array

FORMAT = "engram"
VERSION = 1
PIECE = 2**22  # bytes that are written at a time
WIDEST = 2**24  # numbers in a row of an array that has no rows, so that nothing in the file bounds it
PANIC = "PanicException"  # what an error in Rust becomes in Python, which is no Exception and cannot be imported
FREE = "close what else uses memory, or move the file to a computer with more; if it is not yours, do not trust it"
DTYPES = {  # names in safetensors, in the order in which it writes arrays
    name: np.dtype(kind)
    for name, kind in {
        "U64": "<u8",
        "I64": "<i8",
        "F64": "<f8",
        "F32": "<f4",
        "U32": "<u4",
        "I32": "<i4",
        "F16": "<f2",
        "U16": "<u2",
        "I16": "<i2",
        "I8": "i1",
        "U8": "u1",
        "BOOL": "?",
    }.items()
}


def write_arrays(path: Path, manifest: Mapping[str, Any], arrays: Mapping[str, Array | Pieces]) -> None:
    """Write arrays and a manifest. The file's only metadata entry is a line with a checksum, then the manifest.

    There is one entry because safetensors writes several in any order, and equal content must give equal bytes. Arrays
    go to the file piece by piece, so that writing them takes no memory worth mentioning.
    """
    text = json.dumps({"version": VERSION, "state_hash": HASH_NAME, **manifest})
    dtypes = list(DTYPES.values())
    for name, array in arrays.items():
        if array.dtype.newbyteorder("<") not in dtypes:
            raise InvalidInputError(f"{name!r} is an array of type {array.dtype}, which a file cannot hold")
    order = sorted(arrays, key=lambda name: (dtypes.index(arrays[name].dtype.newbyteorder("<")), name))
    head = header({name: arrays[name] for name in order}, f"{checksum(text, arrays)}\n{text}")
    write_atomically(path, head, *(data_of(arrays[name]) for name in order))


def header(arrays: Mapping[str, Array | Pieces], metadata: str) -> bytes:
    """The head of a safetensors file: its length, then names, types, shapes and places of the arrays in this order."""
    names = {dtype: name for name, dtype in DTYPES.items()}
    told: dict[str, Any] = {"__metadata__": {FORMAT: metadata}}
    end = 0
    for name, array in arrays.items():
        dtype = array.dtype.newbyteorder("<")
        begin, end = end, end + prod(array.shape) * dtype.itemsize
        told[name] = {"dtype": names[dtype], "shape": list(array.shape), "data_offsets": [begin, end]}
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def data_of(array: Array | Pieces) -> Iterator[memoryview]:
    """An array's bytes, little-endian and in C order, some at a time."""
    for part in array.make() if isinstance(array, Pieces) else (array,):
        flat = np.ascontiguousarray(part, part.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        for first in range(0, len(flat), PIECE):
            yield flat[first : first + PIECE].data


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
            version = manifest.get("version") if isinstance(manifest, dict) else None
            if type(version) is not int or version < 1:
                raise ModelFileError(f"{path} is damaged: its manifest cannot be read")
            if version > VERSION:
                raise NewerFormatError(
                    f"{path} has format version {version}, and this Engram reads up to {VERSION}; "
                    "upgrade: pip install -U engram-rl"
                )
            names = list(file.keys())
            check_sizes(path, {name: file.get_slice(name) for name in names})
            arrays = {name: file.get_tensor(name) for name in names}
    except ModelFileError:
        raise
    except MemoryError as error:
        raise TooLargeError(f"cannot read {path}: there is not enough memory; {FREE}") from error
    except (SafetensorError, OSError, TypeError, AttributeError, KeyError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged or not a model file: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is damaged: its manifest cannot be read ({error!r})") from error
    except BaseException as error:
        if type(error).__name__ != PANIC:
            raise
        raise ModelFileError(f"{path} cannot be read: safetensors failed with it ({error})") from error
    if signature != checksum(text, arrays):
        raise ModelFileError(f"{path} is damaged: its content does not match its checksum")
    return manifest, arrays


def check_sizes(path: Path, slices: Mapping[str, Any]) -> None:
    """Raise ModelFileError unless all arrays are of types that a file holds, and fit into memory together."""
    total = 0
    for name, each in slices.items():
        shape, dtype = each.get_shape(), each.get_dtype()
        if dtype not in DTYPES:
            raise ModelFileError(f"{path} is damaged: its array {name!r} is of the type {dtype}, which no model has")
        check_width(path, name, shape)
        total += prod(shape) * DTYPES[dtype].itemsize
    free = available_memory() if total > LARGE else None
    if free is not None and total > free:
        raise TooLargeError(
            f"cannot read {path}: its arrays take {in_bytes(total)}, and {in_bytes(free)} of memory are available; "
            f"{FREE}"
        )
    np.empty(total, np.uint8)  # what the system does not grant raises MemoryError here, and not within safetensors


def check_width(path: Path, name: str, shape: list[int]) -> None:
    """Raise ModelFileError if an array without content says that it is wider than any array that was written."""
    if 0 in shape and prod(filter(None, shape)) > WIDEST:
        raise ModelFileError(
            f"{path} is damaged: its array {name!r} has no rows, but its shape is {shape}; a row has at most "
            f"{WIDEST:,} numbers"
        )


def checksum(text: str, arrays: Mapping[str, Array | Pieces]) -> str:
    """XXH3 (128 bits) of a manifest and its arrays; it finds damage, not forgery."""
    digest = xxh3_128(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.newbyteorder('<').str} {array.shape or (1,)}".encode())
        for data in data_of(array):
            digest.update(data)
    return digest.hexdigest()


def split(state: Mapping[str, Any], prefix: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """Split a nested state dict into arrays or their pieces, named by their paths (a/b), and the rest as plain data."""
    arrays: dict[str, Any] = {}
    plain: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, Pieces):
            arrays[prefix + name] = value
        elif isinstance(value, np.ndarray):
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
