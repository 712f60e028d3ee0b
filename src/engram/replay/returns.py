"""Replay buffer of (state, action, return), for agents that learn from returns of finished episodes."""

from typing import Any, NamedTuple

import numpy as np

from engram import checks
from engram.errors import InvalidInputError
from engram.replay.entries import Entries
from engram.replay.observations import make_observations, require
from engram.typing import Array, Floats, Longs


class ReturnBatch(NamedTuple):
    """A batch of states with the action taken in each and the return that followed."""

    observations: Any  # [B, …] in the environment's dtype, or where they lie on a device: see mirror.py
    actions: Longs  # [B]
    returns: Floats  # [B]


class ReturnReplay:
    """The last `capacity` states, of which those of finished episodes are sampled uniformly.

    A state of the unfinished episode takes its place when it is added, and can be sampled once its return is known.
    """

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.capacity = checks.at_least("replay_size", capacity, 1)
        self._observations = make_observations(shape, dtype, capacity)
        self.mirror: Any = None  # of the observations, on a device
        self._entries = Entries(capacity, self._observations, {"actions": np.int64, "returns": np.float32})
        self.unfinished: list[int] = []  # actions of the unfinished episode; its observations are the newest

    def __len__(self) -> int:
        return len(self._entries)

    def mirror_on(self, device: Any) -> None:
        """Keep the observations on a device too, if it has room for them: batches then say where they lie there."""
        from engram.replay.mirror import make_mirror  # noqa: PLC0415 (needs torch)

        self.mirror = make_mirror(self._observations, device)

    def add(self, observation: Array, action: int) -> None:
        """Add a step to the unfinished episode."""
        self._observations.add(observation)
        self.unfinished.append(action)

    def unfinished_observations(self) -> Array:
        """The observations of the unfinished episode, [T, …]; an error if the first of them are no longer stored."""
        first, newest = self._observations.newest + 1 - len(self.unfinished), self._observations.newest
        if first < self._observations.oldest:
            raise InvalidInputError(
                f"a whole episode must fit into the replay: this one has {len(self.unfinished):,} steps, and "
                f"replay_size is {self.capacity:,}; choose a larger one"
            )
        return self._observations.get(np.arange(first, newest + 1))

    def finish(self, returns: Floats) -> None:
        """End the episode: its T states, with these returns [T], can be sampled from now on."""
        actions = self.unfinished
        if len(returns) != len(actions):
            raise InvalidInputError(f"returns must have one value per step, {len(actions)}, got {len(returns)}")
        first = self._observations.newest + 1 - len(actions)
        self._entries.add_all(np.arange(first, first + len(actions)), actions, returns)
        self.unfinished = []

    def abandon(self) -> None:
        """Drop the unfinished episode; its states are never sampled."""
        self.unfinished = []

    def sample(self, rng: np.random.Generator, size: int) -> ReturnBatch:
        """A batch of states of finished episodes, drawn uniformly with replacement."""
        numbers, (actions, returns) = self._entries.draw(rng, size)
        get = self._observations.get if self.mirror is None else self.mirror.get
        return ReturnBatch(get(numbers), actions, returns)

    @property
    def nbytes(self) -> int:
        """Bytes of memory when the buffer is full."""
        return self._observations.nbytes + self._entries.nbytes

    def state_dict(self) -> dict[str, Any]:
        """Every state that can be sampled, and the unfinished episode."""
        begin = self._observations.newest + 1 - len(self.unfinished)
        return {
            "unfinished": np.array(self.unfinished, np.int64),
            "entries": self._entries.state_dict(),
            "observations": self._observations.state_dict(min(self._entries.oldest_number, begin)),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._observations.load_state_dict(state["observations"])
        if self.mirror is not None:
            self.mirror.forget()
        self._entries.load_state_dict(state["entries"])
        unfinished = state["unfinished"]
        require(unfinished.ndim == 1 and unfinished.dtype == np.int64, "actions of unfinished steps are int64")
        self.unfinished = unfinished.tolist()
        self.check_valid()

    def check_valid(self) -> None:
        """Raise InvalidInputError unless the content is consistent."""
        self._observations.check_valid()
        self._entries.check_valid(room_after=len(self.unfinished))
        require(len(self.unfinished) <= self._observations.newest + 1, "every unfinished step has an observation")

    def check_actions(self, actions: int) -> None:
        """Raise InvalidInputError unless every action is one of so many."""
        self._entries.check_actions(actions)
