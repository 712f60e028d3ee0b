"""What a memory holds at one time, as far as it is drawn or traced, and its file."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engram.errors import ModelFileError
from engram.files.arrays import read_arrays, write_arrays
from engram.memory import EpisodicMemory
from engram.typing import Array, Doubles, Floats, Longs, States

COUNT = "n"  # what strategies that merge states call the size of a cluster


class Entries(NamedTuple):
    """The entries of one table; what is not known is None."""

    keys: Floats  # [n, key_size]
    values: Floats  # [n]
    states: States  # [n], the states with which they were stored
    counts: Doubles | None = None  # [n], states merged into each, or how often each was written
    ages: Longs | None = None  # [n], steps since each was last written
    games: Longs | None = None  # [n], the game that each comes from,
    steps: Longs | None = None  # [n], and the step of that game

    def at(self, slots: Array) -> "Entries":
        """Some of them."""
        return Entries(*(None if column is None else column[slots] for column in self))  # type: ignore[arg-type]


class Snapshot(NamedTuple):
    """The tables of a memory after `step` steps of training."""

    tables: tuple[Entries, ...]  # one per action
    sizes: tuple[int, ...]  # entries that each table had; a snapshot may hold fewer
    capacity: int
    step: int | None = None  # None: not known

    @property
    def values(self) -> Floats:
        """The values of all entries, one table after the other."""
        return np.concatenate([table.values for table in self.tables])

    @property
    def keys(self) -> Floats:
        """The keys of all entries, one table after the other."""
        return np.concatenate([table.keys for table in self.tables])


def entries_of(memory: EpisodicMemory, action: int) -> Entries:
    """One table as it is now."""
    found = memory.entries(action)
    return Entries(found["keys"], found["values"], found["states"], found.get(COUNT))


def snapshot_of(memory: EpisodicMemory, step: int | None = None) -> Snapshot:
    """All tables as they are now."""
    tables = tuple(entries_of(memory, action) for action in range(memory.actions))
    return Snapshot(tables, tuple(len(table.values) for table in tables), memory.capacity, step)


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot whose columns are all known."""
    arrays: dict[str, Array] = {
        "sizes": np.array(snapshot.sizes),
        "held": np.array([len(t.values) for t in snapshot.tables]),
    }
    for number, name in enumerate(Entries._fields):
        arrays[name] = np.concatenate([np.asarray(table[number]) for table in snapshot.tables])
    write_arrays(path, {"step": snapshot.step, "capacity": snapshot.capacity}, arrays)


def read_snapshot(path: Path) -> Snapshot:
    """A snapshot that was written; ModelFileError if it is not whole."""
    manifest, arrays = read_arrays(path)
    try:
        held, ends = arrays["held"], np.cumsum(arrays["held"])[:-1]
        _check_columns(arrays, int(held.sum()))
        parts = [np.split(arrays[name], ends) for name in Entries._fields]
        tables = tuple(Entries(*columns) for columns in zip(*parts, strict=True))
        step, capacity = int(manifest["step"]), int(manifest["capacity"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} is not the snapshot of a memory ({error!r}); delete it") from error
    return Snapshot(tables, tuple(arrays["sizes"].tolist()), capacity, step)


def _check_columns(arrays: dict[str, Any], entries: int) -> None:
    """Raise ValueError unless all columns have so many entries, and numbers in them."""
    for name in Entries._fields:
        column = arrays[name]
        if len(column) != entries or column.ndim != (2 if name == "keys" else 1) or column.dtype.kind not in "iuf":
            raise ValueError(f"{name} has the shape {column.shape} and the type {column.dtype}")
        if column.dtype.kind == "f" and not np.isfinite(column).all():
            raise ValueError(f"{name} has numbers that are not finite")
    if len(arrays["sizes"]) != len(arrays["held"]) or not len(arrays["held"]) or (arrays["held"] < 0).any():
        raise ValueError("sizes of tables")
