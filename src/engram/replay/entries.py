"""Ring buffer of what belongs to an observation (action, reward, return), sampled uniformly."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.replay.observations import Observations, check_number, require
from engram.typing import Array, Longs


class Entries:
    """A ring buffer of entries: the number of an observation, and one value in each column.

    An entry can be sampled as long as its observation is stored.
    """

    def __init__(self, capacity: int, observations: Observations, columns: Mapping[str, type]) -> None:
        self.capacity, self._observations = capacity, observations
        self._numbers = np.zeros(capacity, np.int64)  # of the observations, increasing
        self._columns: dict[str, Array] = {name: np.zeros(capacity, dtype) for name, dtype in columns.items()}
        self._values = list(self._columns.values())
        self._count = 0  # entries ever added
        self._first = 0  # a lower bound of `first`: more may have been overwritten since it was set

    def __len__(self) -> int:
        return self._count - self.first

    @property
    def first(self) -> int:
        """The oldest entry whose observation is still stored, counted from the first entry ever added."""
        first = max(self._first, self._count - self.capacity)
        stored = self._observations.oldest
        while first < self._count and self._numbers[first % self.capacity] < stored:
            first += 1
        self._first = first
        return first

    @property
    def oldest_number(self) -> int:
        """The number of the oldest entry's observation; one after the newest observation if there is no entry."""
        first = self.first
        return int(self._numbers[first % self.capacity]) if first < self._count else self._observations.newest + 1

    def add(self, number: int, *values: float) -> None:
        """Add an entry for an observation, with a value for each column."""
        place = self._count % self.capacity
        self._numbers[place] = number
        for column, value in zip(self._values, values, strict=True):
            column[place] = value
        self._count += 1

    def add_all(self, numbers: Longs, *values: Any) -> None:
        """Add entries for several observations, with values for each column."""
        kept = slice(max(0, len(numbers) - self.capacity), None)  # of more than there is room for, the last
        places = np.arange(self._count, self._count + len(numbers))[kept] % self.capacity
        self._numbers[places] = numbers[kept]
        for column, each in zip(self._values, values, strict=True):
            column[places] = each[kept]
        self._count += len(numbers)

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Longs, list[Array]]:
        """Observation numbers [size] and columns [size] of entries drawn uniformly, with replacement."""
        first = self.first
        if first == self._count:
            raise InvalidInputError("the replay is empty; add to it before sampling from it")
        places = rng.integers(first, self._count, size)
        places %= self.capacity
        return self._numbers[places], [column[places] for column in self._values]

    @property
    def nbytes(self) -> int:
        """Bytes of memory when the buffer is full."""
        return self._numbers.nbytes + sum(column.nbytes for column in self._values)

    def state_dict(self) -> dict[str, Any]:
        """The entries that can be sampled, oldest first."""
        places = np.arange(self.first, self._count) % self.capacity
        columns = {name: column[places] for name, column in self._columns.items()}
        return {"count": self._count, "numbers": self._numbers[places], **columns}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        count, size = check_number(state["count"], "count"), len(state["numbers"])
        for name, column in {"numbers": self._numbers, **self._columns}.items():
            right = state[name].shape == (size,) and state[name].dtype == column.dtype
            require(right, f"{name} are {column.dtype}, one for each entry")
        require(size <= min(self.capacity, count), "no more entries are stored than were added")
        stored = not size or state["numbers"][0] >= self._observations.oldest
        require(bool(stored), "the observations of every entry are stored")
        self._count = count
        self._first = self._count - size
        places = np.arange(self._first, self._count) % self.capacity
        self._numbers[places] = state["numbers"]
        for name, column in self._columns.items():
            column[places] = state[name]

    def check_valid(self, *, room_after: int = 0) -> None:
        """Raise InvalidInputError unless values are finite and `room_after` observations follow each entry's."""
        state = self.state_dict()
        numbers = state["numbers"]
        require(bool((np.diff(numbers) > 0).all()), "entries are in order of time")
        newest = self._observations.newest
        require(not len(numbers) or numbers[-1] + room_after <= newest, "the observations of every entry are stored")
        for name in self._columns:
            require(bool(np.isfinite(state[name]).all()), f"{name} are finite")

    def check_actions(self, actions: int) -> None:
        """Raise InvalidInputError unless each entry's action is one of so many."""
        taken = self.state_dict()["actions"]
        require(bool(((taken >= 0) & (taken < actions)).all()), f"actions are from 0 to {actions - 1}")
