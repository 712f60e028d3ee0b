"""Observations, stored once each in a ring; of stacked frames, each frame once."""

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.files.rows import Rows
from engram.typing import Array, Longs

MOST_STACKED = 8  # an image with a longer first axis is no stack of frames
MEMORY_INFO = Path("/proc/meminfo")
GIB = 2**30


class Observations(ABC):
    """A ring of observations, numbered 0, 1, 2, … in order of arrival; those from `oldest` to `newest` are there."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> None:
        self.shape, self.dtype, self.capacity = shape, dtype, capacity
        self.newest = -1
        self._oldest = 0  # nothing before it is there; more may have been overwritten since

    @property
    def oldest(self) -> int:
        """The smallest number that can still be fetched."""
        return max(self._oldest, self.newest + 1 - self.capacity)

    def numbers(self, since: int = 0) -> Longs:
        """Those of the stored observations, from number `since` on, the newest always among them."""
        return np.arange(max(min(since, self.newest), self.oldest), self.newest + 1)

    @abstractmethod
    def add(self, observation: Array) -> int:
        """Store an observation; return its number."""

    @abstractmethod
    def get(self, numbers: Longs) -> Array:
        """Copies of stored observations, [B] → [B, *shape]."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Of memory, once every place is taken."""

    @abstractmethod
    def state_dict(self, since: int = 0) -> dict[str, Any]:
        """What is stored from number `since` on, in order of time."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""

    @abstractmethod
    def check_valid(self) -> None:
        """Raise InvalidInputError unless everything fits together."""


def make_observations(shape: tuple[int, ...], dtype: Any, capacity: int) -> Observations:
    """Room for observations of this kind, if the machine has the memory.

    Bytes [stack, height, width] with up to eight frames are taken for stacked frames. Images [colours, height,
    width] look the same but share nothing, and take the place of `colours` observations each.
    """
    dtype = np.dtype(dtype)
    stacked = dtype == np.uint8 and len(shape) == 3 and 1 < shape[0] <= MOST_STACKED
    return FrameObservations(shape, dtype, capacity) if stacked else PlainObservations(shape, dtype, capacity)


class PlainObservations(Observations):
    """Each observation in a place of its own: capacity × the bytes of one."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> None:
        super().__init__(shape, dtype, capacity)
        self._ring = allocate((capacity, *shape), dtype, capacity)

    def add(self, observation: Array) -> int:
        """Store an observation; return its number."""
        self.newest = number = self.newest + 1
        self._ring[number % self.capacity] = observation
        return number

    def get(self, numbers: Longs) -> Array:
        """Copies of stored observations, [B] → [B, *shape]."""
        return self._ring.take(numbers % self.capacity, axis=0)

    @property
    def nbytes(self) -> int:
        """Of memory, once every place is taken."""
        return self._ring.nbytes

    def state_dict(self, since: int = 0) -> dict[str, Any]:
        """What is stored from number `since` on, in order of time."""
        return {"newest": self.newest, "observations": Rows(self.newest + 1, self.get(self.numbers(since)))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        observations = state["observations"].array
        require(observations.shape[1:] == self.shape, f"observations have shape {self.shape}")
        require(len(observations) <= min(self.capacity, state["newest"] + 1), "no more is stored than was added")
        self.newest = state["newest"]
        self._oldest = self.newest + 1 - len(observations)
        self._ring[self.numbers() % self.capacity] = observations

    def check_valid(self) -> None:
        """Raise InvalidInputError unless everything fits together."""
        if self.dtype.kind == "f":
            require(bool(np.isfinite(self.get(self.numbers())).all()), "observations are finite")


class FrameObservations(Observations):
    """Stacks of frames [stack, height, width], newest last, of which each frame is stored once.

    An observation that goes on where the one before it stopped adds its newest frame; another one, at the start
    of an episode, adds all its frames. There is room for (1 + 1/32) capacity + stack frames of height × width bytes:
    7 GiB for a million observations of 84 × 84 pixels. Where starts are so frequent that this is not enough, the
    oldest observations go before their time.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> None:
        super().__init__(shape, dtype, capacity)
        self._room = capacity + capacity // 32 + shape[0]
        self._frames = allocate((self._room, *shape[1:]), dtype, capacity)
        self._written = 0  # frames, since the beginning
        self._last = np.zeros(capacity, np.int64)  # of each observation, the number of its newest frame
        self._previous = np.zeros(shape, dtype)
        self._offsets = np.arange(1 - shape[0], 1)

    @property
    def oldest(self) -> int:
        """The smallest number whose frames are all still there."""
        number, last = super().oldest, self._last
        whole = self._written - self._room + self.shape[0] - 1
        while number <= self.newest and last[number % self.capacity] < whole:
            number += 1
        self._oldest = number
        return number

    def add(self, observation: Array) -> int:
        """Store what is new in an observation; return its number."""
        previous = self._previous
        if self.newest < 0:
            frames = observation
        elif np.array_equal(observation[:-1], previous[1:]):
            frames = observation[-1:]
        elif np.array_equal(observation, previous):  # the next episode of the same game begins where the last ended
            frames = observation[:0]
        else:
            frames = observation
        for frame in frames:
            self._frames[self._written % self._room] = frame
            self._written += 1
        previous[...] = observation
        self.newest = number = self.newest + 1
        self._last[number % self.capacity] = self._written - 1
        return number

    def get(self, numbers: Longs) -> Array:
        """Stacks as they were added, [B] → [B, stack, height, width]."""
        last = self._last[numbers % self.capacity]
        return self._frames.take((last[:, None] + self._offsets) % self._room, axis=0)

    @property
    def nbytes(self) -> int:
        """Of memory, once every place is taken."""
        return self._frames.nbytes + self._last.nbytes + self._previous.nbytes

    def state_dict(self, since: int = 0) -> dict[str, Any]:
        """What is stored from number `since` on, in order of time."""
        last = self._last[self.numbers(since) % self.capacity]
        first_frame = last[0] + 1 - self.shape[0] if len(last) else self._written
        frames = self._frames[np.arange(first_frame, self._written) % self._room]
        return {"newest": self.newest, "last": last, "frames": Rows(self._written, frames)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave."""
        newest, last = state["newest"], state["last"]
        written, frames = state["frames"]
        require(frames.shape[1:] == self.shape[1:], f"frames have shape {self.shape[1:]}")
        require(len(last) <= min(self.capacity, newest + 1), "no more is stored than was added")
        require(len(frames) <= min(self._room, written), "no more frames are stored than were added")
        self.newest, self._written = newest, written
        self._oldest = newest + 1 - len(last)
        self._last[np.arange(self._oldest, newest + 1) % self.capacity] = last
        self._frames[np.arange(written - len(frames), written) % self._room] = frames
        require(self._oldest == self.oldest, "every observation has its frames")
        if newest >= 0:
            self._previous[...] = self.get(np.array([newest]))[0]

    def check_valid(self) -> None:
        """Raise InvalidInputError unless everything fits together."""
        last = self._last[self.numbers() % self.capacity]
        require(bool(np.isin(np.diff(last), (0, 1, len(self._offsets))).all()), "each adds no, one or all its frames")
        require(not len(last) or last[-1] == self._written - 1, "the newest observation has the newest frame")


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> Array:
    """Zeros, whose memory is taken only as they are written; refused if there is not enough of it."""
    needed, available = int(np.prod(shape)) * dtype.itemsize, available_memory()
    if available is not None and needed > available:
        raise InvalidInputError(
            f"a replay of {capacity:,} observations needs {needed / GIB:.1f} GiB of memory, and {available / GIB:.1f} "
            "GiB are available; choose a smaller replay_size"
        )
    return np.zeros(shape, dtype)


def available_memory() -> int | None:
    """Bytes of memory that can be had, or None where the system does not say."""
    if MEMORY_INFO.exists():
        for line in MEMORY_INFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require(holds: bool, fact: str) -> None:
    """Raise InvalidInputError, naming the fact, unless it holds."""
    if not holds:
        raise InvalidInputError(f"replay is not valid: it should hold that {fact}")
