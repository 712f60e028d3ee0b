"""Ring buffers of observations. Each is stored once; of stacked frames, each frame once."""

from abc import ABC, abstractmethod
from math import prod
from typing import Any

import numpy as np

from engram import checks
from engram.checks import MOST_STEPS
from engram.envs.observed import is_usable
from engram.errors import InvalidInputError
from engram.files.rows import Rows
from engram.frames import stacked_frames
from engram.typing import Array, Longs

BESIDES = 64  # bytes at most of what else is kept for each observation: numbers, action, reward


class Observations(ABC):
    """A ring buffer of observations, numbered 0, 1, 2, … in order of arrival; `oldest` to `newest` are stored."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> None:
        self.shape, self.dtype, self.capacity = shape, dtype, capacity
        self.newest = -1
        self._oldest = 0  # a lower bound of `oldest`: more may have been overwritten since it was set

    @property
    def oldest(self) -> int:
        """The number of the oldest stored observation."""
        return max(self._oldest, self.newest + 1 - self.capacity)

    def numbers(self, since: int = 0) -> Longs:
        """Numbers of the stored observations from `since` on, and always of the newest."""
        return np.arange(max(min(since, self.newest), self.oldest), self.newest + 1)

    @abstractmethod
    def add(self, observation: Array) -> int:
        """Store an observation and return its number."""

    @property
    @abstractmethod
    def rows(self) -> Array:
        """The ring that observations lie in: whole ones, or their frames."""

    @property
    @abstractmethod
    def written(self) -> int:
        """Rows ever written; the next goes to this number modulo the ring's length."""

    @abstractmethod
    def places(self, numbers: Longs) -> Longs:
        """Rows of the ring that make up the observations with these numbers, [B] or [B, stack]."""

    def get(self, numbers: Longs) -> Array:
        """Copies of the observations with these numbers, [B] → [B, *shape]."""
        return self.rows.take(self.places(numbers), axis=0)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of memory when the buffer is full."""

    @abstractmethod
    def state_dict(self, since: int = 0) -> dict[str, Any]:
        """The stored observations from number `since` on, oldest first."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""

    @abstractmethod
    def check_valid(self) -> None:
        """Raise InvalidInputError unless the content is consistent."""


def make_observations(shape: tuple[int, ...], dtype: Any, capacity: int) -> Observations:
    """A buffer for observations of this shape and dtype; an error if the machine has too little memory for it.

    Bytes [stack, height, width] with two to eight frames are stored frame by frame. Images [colours, height, width]
    have the same shape but no frames in common, so that each takes the room of `colours` observations.
    """
    dtype = np.dtype(dtype)
    stacked = dtype == np.uint8 and stacked_frames(shape) > 1
    return FrameObservations(shape, dtype, capacity) if stacked else PlainObservations(shape, dtype, capacity)


class PlainObservations(Observations):
    """A buffer with one row per observation: capacity × the bytes of one."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> None:
        super().__init__(shape, dtype, capacity)
        self._ring = allocate((capacity, *shape), dtype, capacity)

    def add(self, observation: Array) -> int:
        """Store an observation and return its number."""
        self.newest = number = self.newest + 1
        self._ring[number % self.capacity] = observation
        return number

    @property
    def rows(self) -> Array:
        """The observations, [capacity, *shape]."""
        return self._ring

    @property
    def written(self) -> int:
        """Observations ever added."""
        return self.newest + 1

    def places(self, numbers: Longs) -> Longs:
        """The rows of these observations, [B]."""
        return numbers % self.capacity

    @property
    def nbytes(self) -> int:
        """Bytes of memory when the buffer is full."""
        return self._ring.nbytes

    def state_dict(self, since: int = 0) -> dict[str, Any]:
        """The stored observations from number `since` on, oldest first."""
        return {"newest": self.newest, "observations": Rows(self.newest + 1, self.get(self.numbers(since)))}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        newest = check_number(state["newest"], "newest")
        end, observations = state["observations"]
        require(observations.shape[1:] == self.shape, f"observations have shape {self.shape}")
        require(observations.dtype == self.dtype, f"observations are {self.dtype}")
        require(end == newest + 1, "the last row is the newest observation")
        require(min(newest + 1, 1) <= len(observations), "the newest observation is stored")
        require(len(observations) <= min(self.capacity, newest + 1), "no more is stored than was added")
        self.newest = newest
        self._oldest = self.newest + 1 - len(observations)
        self._ring[self.numbers() % self.capacity] = observations

    def check_valid(self) -> None:
        """Raise InvalidInputError unless the content is consistent."""
        require(self.dtype.kind != "f" or is_usable(self.get(self.numbers())), "observations are finite")


class FrameObservations(Observations):
    """A buffer of stacked frames [stack, height, width], newest frame last, that stores each frame once.

    An observation whose other frames end the one before it adds only its newest frame; any other, as at the start of
    an episode, adds all its frames. There is room for (1 + 1/32) capacity + stack frames of height × width bytes:
    7 GiB for a million observations of 84 × 84 pixels. Where episodes are so short that this is not enough, fewer than
    `capacity` observations are kept.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> None:
        super().__init__(shape, dtype, capacity)
        self._room = capacity + capacity // 32 + shape[0]
        self._frames = allocate((self._room, *shape[1:]), dtype, capacity)
        self._written = 0  # frames ever stored
        self._last = np.zeros(capacity, np.int64)  # the number of each observation's newest frame
        self._previous = bytes(prod(shape))  # the newest observation
        self._offsets = np.arange(1 - shape[0], 1)

    @property
    def oldest(self) -> int:
        """The number of the oldest observation whose frames are all still stored."""
        number, last = super().oldest, self._last
        complete = self._written - self._room + self.shape[0] - 1  # frame numbers from which on no frame is missing
        while number <= self.newest and last[number % self.capacity] < complete:
            number += 1
        self._oldest = number
        return number

    def add(self, observation: Array) -> int:
        """Store the frames of an observation that are new, and return its number."""
        seen, previous = observation.tobytes(), memoryview(self._previous)  # bytes are compared at once
        if self.newest < 0:
            frames = observation
        elif seen.startswith(previous[len(previous) // len(observation) :]):
            frames = observation[-1:]
        elif seen == self._previous:  # as when a lost life ends an episode
            frames = observation[:0]
        else:
            frames = observation
        for frame in frames:
            self._frames[self._written % self._room] = frame
            self._written += 1
        self._previous = seen
        self.newest = number = self.newest + 1
        self._last[number % self.capacity] = self._written - 1
        return number

    @property
    def rows(self) -> Array:
        """The frames, [room, height, width]."""
        return self._frames

    @property
    def written(self) -> int:
        """Frames ever stored."""
        return self._written

    def places(self, numbers: Longs) -> Longs:
        """The rows of the frames of these stacks, [B, stack]."""
        last: Longs = self._last[numbers % self.capacity]
        return (last[:, None] + self._offsets) % self._room

    @property
    def nbytes(self) -> int:
        """Bytes of memory when the buffer is full."""
        return self._frames.nbytes + self._last.nbytes + len(self._previous)

    def state_dict(self, since: int = 0) -> dict[str, Any]:
        """The stored observations from number `since` on, oldest first."""
        last = self._last[self.numbers(since) % self.capacity]
        first_frame = last[0] + 1 - self.shape[0] if len(last) else self._written
        frames = self._frames[np.arange(first_frame, self._written) % self._room]
        return {"newest": self.newest, "last": last, "frames": Rows(self._written, frames)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        newest, last = check_number(state["newest"], "newest"), state["last"]
        written, frames = state["frames"]
        check_number(written, "frames written")
        require(frames.shape[1:] == self.shape[1:], f"frames have shape {self.shape[1:]}")
        require(frames.dtype == self.dtype, f"frames are {self.dtype}")
        require(last.ndim == 1 and last.dtype == np.int64, "the numbers of newest frames are int64")
        require(min(newest + 1, 1) <= len(last), "the newest observation is stored")
        first = int(last[0]) + 1 - self.shape[0] if len(last) else written
        require(0 <= first == written - len(frames), "the frames of every observation are stored, and no others")
        require(len(last) <= min(self.capacity, newest + 1), "no more is stored than was added")
        require(len(frames) <= min(self._room, written), "no more frames are stored than were added")
        self.newest, self._written = newest, written
        self._oldest = newest + 1 - len(last)
        self._last[np.arange(self._oldest, newest + 1) % self.capacity] = last
        self._frames[np.arange(written - len(frames), written) % self._room] = frames
        require(self._oldest == self.oldest, "every observation has its frames")
        if newest >= 0:
            self._previous = self.get(np.array([newest])).tobytes()

    def check_valid(self) -> None:
        """Raise InvalidInputError unless the content is consistent."""
        last = self._last[self.numbers() % self.capacity]
        require(
            bool(np.isin(np.diff(last), (0, 1, len(self._offsets))).all()),
            "each adds none, one or all of its frames",
        )
        require(not len(last) or last[-1] == self._written - 1, "the newest observation has the newest frame")


def allocate(shape: tuple[int, ...], dtype: np.dtype[Any], capacity: int) -> Array:
    """An array of zeros, or an error if there is not enough memory; the system hands it out as rows are written."""
    needed = prod(shape) * dtype.itemsize + capacity * BESIDES
    checks.room(needed, f"a replay of {capacity:,} observations", lambda _: "choose a smaller replay_size")
    return np.zeros(shape, dtype)


def check_number(number: Any, name: str) -> int:
    """A count or the number of an observation from a file; -1 is that of none."""
    require(type(number) is int and -1 <= number <= MOST_STEPS, f"{name} is a whole number from -1 to {MOST_STEPS:.0e}")
    return int(number)


def require(holds: bool, fact: str) -> None:
    """Raise InvalidInputError unless a fact holds."""
    if not holds:
        raise InvalidInputError(f"the replay is not valid: expected that {fact}")
