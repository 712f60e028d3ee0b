"""Rows of numbers about observations, drawn at random as long as their observation is stored."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.replay.observations import Observations, require
from engram.typing import Array, Longs


class Entries:
    """A ring of entries, each the number of an observation and one value in every column."""

    def __init__(self, capacity: int, observations: Observations, columns: Mapping[str, type]) -> None:
        self.capacity, self._observations = capacity, observations
        self._numbers = np.zeros(capacity, np.int64)  # of the observations, rising
        self._columns: dict[str, Array] = {name: np.zeros(capacity, dtype) for name, dtype in columns.items()}
        self._values = list(self._columns.values())
        self._count = 0  # entries since the beginning
        self._first = 0  # nothing before it is there; more may have been overwritten since

    def __len__(self) -> int:
        return self._count - self.first

    @property
    def first(self) -> int:
        """The oldest entry whose observation is still stored."""
        first = max(self._first, self._count - self.capacity)
        stored = self._observations.oldest
        while first < self._count and self._numbers[first % self.capacity] < stored:
            first += 1
        self._first = first
        return first

    @property
    def oldest_number(self) -> int:
        """Of the observations that entries are about; behind the newest if there is no entry."""
        first = self.first
        return int(self._numbers[first % self.capacity]) if first < self._count else self._observations.newest + 1

    def add(self, number: int, *values: float) -> None:
        """Add the entry for an observation."""
        place = self._count % self.capacity
        self._numbers[place] = number
        for column, value in zip(self._values, values, strict=True):
            column[place] = value
        self._count += 1

    def draw(self, rng: np.random.Generator, size: int) -> tuple[Longs, list[Array]]:
        """Numbers of observations and the columns' values for entries drawn uniformly, with replacement."""
        first = self.first
        if first == self._count:
            raise InvalidInputError("the replay is empty; add to it before drawing from it")
        places = rng.integers(first, self._count, size)
        places %= self.capacity
        return self._numbers[places], [column[places] for column in self._values]

    @property
    def nbytes(self) -> int:
        """Of memory, once every place is taken."""
        return self._numbers.nbytes + sum(column.nbytes for column in self._values)

    def state_dict(self) -> dict[str, Any]:
        """Everything that can be drawn, in order of time."""
        places = np.arange(self.first, self._count) % self.capacity
        columns = {name: column[places] for name, column in self._columns.items()}
        return {"count": self._count, "numbers": self._numbers[places], **columns}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        size = len(state["numbers"])
        require(size <= min(self.capacity, state["count"]), "there are no more entries than were added")
        self._count = state["count"]
        self._first = self._count - size
        places = np.arange(self._first, self._count) % self.capacity
        self._numbers[places] = state["numbers"]
        for name, column in self._columns.items():
            column[places] = state[name]

    def check_valid(self, *, room_after: int = 0) -> None:
        """Raise InvalidInputError unless all is finite and `room_after` observations came after each entry's."""
        state = self.state_dict()
        numbers = state["numbers"]
        require(bool((np.diff(numbers) > 0).all()), "entries are in order of time")
        newest = self._observations.newest
        require(not len(numbers) or numbers[-1] + room_after <= newest, "every entry's observations are there")
        for name in self._columns:
            require(bool(np.isfinite(state[name]).all()), f"{name} are finite")
