"""What a memory holds at one time, as far as it is drawn or traced, and its file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from engram.agents.common.model_file import MALFORMED
from engram.checks import MOST_STEPS
from engram.envs.given import NUMBERS
from engram.errors import ModelFileError
from engram.files.arrays import read_arrays, write_arrays
from engram.memory import EpisodicMemory
from engram.memory.arguments import KEY_LIMIT
from engram.typing import Array, Doubles, Floats, Longs, States

COUNT = "n"  # what strategies that merge states call the size of a cluster
DTYPES: dict[str, Any] = {"keys": "f4", "values": "f4", "states": "u8", "ages": "i8", "games": "i8", "steps": "i8"}


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
    """A snapshot that was written; ModelFileError for one that cannot be."""
    manifest, arrays = read_arrays(path)
    try:
        step, capacity = manifest["step"], manifest["capacity"]
        for fact, holds in _facts(arrays, step, capacity):
            if not holds:
                raise ValueError(f"it should hold that {fact}")
    except MALFORMED as error:
        raise ModelFileError(f"{path} is not the snapshot of a memory ({error}); delete it") from error
    parts = [np.split(arrays[name], np.cumsum(arrays["held"])[:-1]) for name in Entries._fields]
    tables = tuple(Entries(*columns) for columns in zip(*parts, strict=True))
    return Snapshot(tables, tuple(arrays["sizes"].tolist()), capacity, step)


def _facts(arrays: dict[str, Array], step: Any, capacity: Any) -> Iterator[tuple[str, bool]]:
    """Facts, each of which can be looked at if those before it hold."""
    yield "step and capacity are counts", all(type(n) is int and 0 <= n <= MOST_STEPS for n in (step, capacity))
    sizes, held = arrays["sizes"], arrays["held"]
    yield "sizes are of tables", sizes.shape == held.shape and sizes.ndim == 1 and len(sizes) > 0
    yield "sizes are whole numbers", sizes.dtype == held.dtype == np.int64
    yield "tables hold no more than they can", bool(((held >= 0) & (held <= sizes) & (sizes <= capacity)).all())
    for name in Entries._fields:
        column = arrays[name]
        yield f"{name} are numbers of their type", column.dtype == DTYPES.get(name, column.dtype)
        yield f"{name} are finite", column.dtype.kind in NUMBERS and bool(np.isfinite(column).all())
        yield f"{name} are those of all entries", column.shape[:1] == (int(held.sum()),)
        yield f"{name} have their shape", column.ndim == (2 if name == "keys" else 1)
    yield "keys have numbers", arrays["keys"].shape[1] > 0
    yield "keys are not too large", bool((np.abs(arrays["keys"]) <= KEY_LIMIT).all())
    yield "ages are those of steps", bool(((arrays["ages"] >= 0) & (arrays["ages"] <= step)).all())
