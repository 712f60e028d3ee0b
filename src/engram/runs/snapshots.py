"""What a memory holds at one time, as far as it is drawn or traced."""

from typing import NamedTuple

import numpy as np

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
