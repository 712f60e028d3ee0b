"""Replay buffer of transitions (s, a, r, s'), for agents that bootstrap from the next state."""

from typing import Any, NamedTuple

import numpy as np

from engram import checks
from engram.replay.entries import Entries
from engram.replay.observations import make_observations, require
from engram.typing import Array, Floats, Longs


class Batch(NamedTuple):
    """A batch of transitions."""

    observations: Any  # [B, …] in the environment's dtype, or where they lie on a device: see mirror.py
    actions: Longs  # [B]
    rewards: Floats  # [B]
    next_observations: Any  # [B, …], likewise
    terminated: Array  # [B] bool
    truncated: Array  # [B] bool
    masks: Array | None = None  # [B, actions] bool, the actions that are possible next; None: all


class TransitionReplay:
    """The last `capacity` transitions, sampled uniformly.

    s' is the observation stored right after s, so that an episode of T steps stores T + 1 observations. Of vectors, as
    many more are stored as there can be episodes. Of images, which are large, only 1/32 more are stored: where episodes
    are shorter than 32 steps on average, fewer than `capacity` transitions are kept.
    """

    def __init__(self, capacity: int, shape: tuple[int, ...], dtype: Any) -> None:
        self.capacity = checks.at_least("replay_size", capacity, 1)
        ends = capacity if len(shape) == 1 else capacity // 32
        self._observations = make_observations(shape, dtype, capacity + ends + 1)
        columns = {"actions": np.int64, "rewards": np.float32, "terminated": np.bool_, "truncated": np.bool_}
        self.mirror: Any = None  # of the observations, on a device
        self._entries = Entries(capacity, self._observations, columns)
        self.in_episode = False  # whether the newest observation belongs to an unfinished episode
        self._masks: Array | None = None  # [observations, actions], which are possible there; made when it is needed

    def __len__(self) -> int:
        return len(self._entries)

    def mirror_on(self, device: Any) -> None:
        """Keep the observations on a device too, if it has room for them: batches then say where they lie there."""
        from engram.replay.mirror import make_mirror  # noqa: PLC0415 (needs torch)

        self.mirror = make_mirror(self._observations, device)

    def begin(self, observation: Array) -> None:
        """Begin an episode at its first observation."""
        self._observations.add(observation)
        self.in_episode = True

    def add(
        self,
        action: int,
        reward: float,
        next_observation: Array,
        *,
        terminated: bool = False,
        truncated: bool = False,
        mask: Array | None = None,
    ) -> None:
        """Add a transition from the newest observation; the mask [actions] says what is possible after it."""
        number = self._observations.add(next_observation) - 1
        if self._masks is None and mask is not None:
            self._masks = np.ones((self._observations.capacity, len(mask)), np.bool_)
        if self._masks is not None:
            self._masks[self._places(number + 1)] = True if mask is None else mask
        self._entries.add(number, action, reward, terminated, truncated)
        self.in_episode = not (terminated or truncated)

    def abandon(self) -> None:
        """Leave the episode unfinished; its transitions stay."""
        self.in_episode = False

    def sample(self, rng: np.random.Generator, size: int) -> Batch:
        """A batch of transitions, drawn uniformly with replacement."""
        numbers, (actions, rewards, terminated, truncated) = self._entries.draw(rng, size)
        masks = None if self._masks is None else self._masks[self._places(numbers + 1)]
        get = self._observations.get if self.mirror is None or masks is not None else self.mirror.get
        return Batch(get(numbers), actions, rewards, get(numbers + 1), terminated, truncated, masks)

    def _places(self, numbers: Any) -> Any:
        """Where the masks of observations with these numbers are."""
        return numbers % self._observations.capacity

    @property
    def nbytes(self) -> int:
        """Bytes of memory when the buffer is full."""
        masks = 0 if self._masks is None else self._masks.nbytes
        return self._observations.nbytes + self._entries.nbytes + masks

    def state_dict(self) -> dict[str, Any]:
        """Every transition that can be sampled, and whether an episode is unfinished."""
        since = self._entries.oldest_number
        state = {
            "in_episode": self.in_episode,
            "entries": self._entries.state_dict(),
            "observations": self._observations.state_dict(since),
        }
        if self._masks is not None:
            state["masks"] = self._masks[self._places(self._observations.numbers(since))]
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` returned."""
        self._observations.load_state_dict(state["observations"])
        if self.mirror is not None:
            self.mirror.forget()
        self._entries.load_state_dict(state["entries"])
        require(isinstance(state["in_episode"], bool), "an episode is unfinished or not")
        self.in_episode = state["in_episode"]
        self._masks = None
        if "masks" in state:
            masks, numbers = state["masks"], self._observations.numbers()
            right = masks.dtype == np.bool_ and masks.ndim == 2 and len(masks) == len(numbers)
            require(bool(right and masks.any(axis=1).all()), "masks are booleans, some true, one row per observation")
            self._masks = np.ones((self._observations.capacity, masks.shape[1]), np.bool_)
            self._masks[self._places(numbers)] = masks
        self.check_valid()

    def check_valid(self) -> None:
        """Raise InvalidInputError unless the content is consistent."""
        self._observations.check_valid()
        self._entries.check_valid(room_after=1)

    def check_actions(self, actions: int) -> None:
        """Raise InvalidInputError unless every action is one of so many."""
        self._entries.check_actions(actions)
        require(self._masks is None or self._masks.shape[1] == actions, f"masks are of {actions} actions")
