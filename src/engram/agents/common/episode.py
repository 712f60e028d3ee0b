"""An episode on its way into a memory: step by step while it lasts, whole when it has ended."""

from array import array
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.memory.arguments import KEY_LIMIT
from engram.memory.quick import ROWS, Desk
from engram.parts import Spaces
from engram.training.environment import LARGEST_REWARD
from engram.training.events import total_of
from engram.typing import Array, Floats, Longs, States

BLOCK = 256  # steps whose keys are packed together: an array alone takes 15 times the room of four numbers


class Finished(NamedTuple):
    """An episode that ended: one row per step, and its whole return."""

    keys: Any  # [T, key_size], as arrays or tensors
    states: States  # [T]
    actions: Longs  # [T]
    returns: Floats  # [T], what followed each step
    total: float  # undiscounted return of the whole episode
    observations: Array | None = None  # [T, …], where clusters are found by them

    def write_to(self, memory: EpisodicMemory) -> None:
        """Write every state into the table of the action taken there, in order of time."""
        for action in range(memory.actions):
            taken = np.flatnonzero(self.actions == action)
            if len(taken):
                observed = None if self.observations is None else self.observations[taken]
                memory.write(
                    action,
                    self.keys[taken],
                    self.returns[taken],
                    states=self.states[taken],
                    episode_return=self.total,
                    observations=observed,
                )


class Episode:
    """What was seen, done and received in the unfinished episode, packed: about as many bytes as the numbers have.

    The last step may still be going on: then it has no reward yet.
    """

    def __init__(self) -> None:
        self._desk: Desk | None = None  # with a block in which a kernel notes steps
        self.told: Callable[[Finished], None] | None = None  # of every episode that ends, before it is written
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._blocks: list[Any] = []  # keys of earlier steps, `BLOCK` each
        self._recent: list[Any] = []  # keys since then, one by one
        self.row = 0  # of the desk's block in which the next step is to be noted
        self._states = array("Q")
        self.actions = array("q")
        self.rewards = array("d")
        self.best = array("d")  # max over a of Q(s, a) when the state was visited; only NEC needs it

    def __len__(self) -> int:
        return len(self.actions)

    def take_notes_from(self, desk: Desk) -> None:
        """From now on a kernel notes keys and states of steps, and `noted` is called after each."""
        self._collect()
        self._desk = desk

    def noted(self, action: int) -> None:
        """A step was begun whose key and state a kernel has noted."""
        self.actions.append(action)
        self.row += 1
        if self.row == ROWS:
            self._collect()

    def _collect(self) -> None:
        """Take over what has been noted."""
        if self.row and self._desk is not None:
            self._blocks.append(self._desk.keys[: self.row].copy())
            self._states.frombytes(self._desk.states[: self.row].tobytes())
            self.row = 0

    @property
    def states(self) -> "array[int]":
        """Which states they were, [T]."""
        self._collect()
        return self._states

    def key(self, step: int) -> Any:
        """The key of one step, [1, key_size]."""
        self._collect()
        for block in self._blocks:
            if step < len(block):
                return block[step : step + 1]
            step -= len(block)
        return stacked(self._recent[step : step + 1])

    @property
    def keys(self) -> Any:
        """Keys [T, key_size] as an array or a tensor; while the encoder has not settled, observations."""
        self._collect()
        parts = [*self._blocks, stacked(self._recent)] if self._recent else self._blocks
        return parts[0] if len(parts) == 1 else joined(parts)

    @keys.setter
    def keys(self, keys: Any) -> None:
        self._collect()
        self._blocks, self._recent = [keys], []

    def add(self, key: Any, state: int, action: int) -> None:
        """Begin a step."""
        self._collect()
        self._recent.append(key)
        if len(self._recent) == BLOCK:
            self._blocks.append(stacked(self._recent))
            self._recent = []
        self._states.append(state)
        self.actions.append(action)

    def finish(self, returns: Floats, observations: Array | None = None) -> Finished:
        """The finished episode with its returns; the buffers are empty afterwards."""
        states, actions = np.frombuffer(self.states, np.uint64), np.frombuffer(self.actions, np.int64)
        finished = Finished(self.keys, states, actions, returns, total_of(self.rewards), observations)
        self.clear()
        if self.told is not None:
            self.told(finished)
        return finished

    def state_dict(self) -> dict[str, Any]:
        """The steps as arrays; `best` only where it is kept."""
        state: dict[str, Any] = {
            "keys": np.array(as_array(self.keys)) if len(self) else np.zeros(0, np.float32),
            "states": np.array(self.states, np.uint64),
            "actions": np.array(self.actions, np.int32),
            "rewards": np.array(self.rewards, np.float64),
        }
        return state | ({"best": np.array(self.best, np.float64)} if self.best else {})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        numbers = {"best": np.zeros(0), **state}
        for name, dtype in (
            ("states", np.uint64),
            ("actions", np.int32),
            ("rewards", np.float64),
            ("best", np.float64),
        ):
            if numbers[name].ndim != 1 or numbers[name].dtype != dtype:
                raise InvalidInputError(f"{name} of an unfinished episode must be a vector of {np.dtype(dtype)}")
        self.clear()
        if len(state["keys"]):
            self.keys = state["keys"]
        for name in ("states", "actions", "rewards", "best"):
            getattr(self, name).extend(numbers[name].tolist())

    def check(self, length: int, begun: int, spaces: Spaces, *, key: tuple[Any, Any], has_best: bool = False) -> None:
        """Raise InvalidInputError unless so many steps have ended and begun, with keys of this shape and dtype."""
        shape, dtype = key
        self._collect()
        keys = as_array(self.keys) if self._blocks or self._recent else np.zeros((0, *shape), dtype)
        actions, best = np.array(self.actions), np.array(self.best)
        facts = {
            f"{begun} steps were begun": len(self) == len(self.states) == begun,
            f"{length} rewards were received": len(self.rewards) == length,
            "values were noted for each step": len(self.best) == (begun if has_best else 0),
            f"keys are {dtype} of shape {shape}": keys.shape == (begun, *shape) and keys.dtype == dtype,
            f"actions are from 0 to {spaces.actions - 1}": bool(((actions >= 0) & (actions < spaces.actions)).all()),
            "rewards are finite and not too large": bool((np.abs(self.rewards) <= LARGEST_REWARD).all()),
            f"keys are from -{KEY_LIMIT:g} to {KEY_LIMIT:g}": within_limit(keys),
            "values are finite": bool(np.isfinite(best).all()),
        }
        for fact, holds in facts.items():
            if not holds:
                raise InvalidInputError(f"the unfinished episode is not valid: it should hold that {fact}")


def within_limit(keys: Array) -> bool:
    """Whether a memory can take all numbers of keys, or of observations that will be keys."""
    return bool((np.abs(keys.astype(np.float64)) <= KEY_LIMIT).all())


def as_array(numbers: Any) -> Array:
    """A NumPy array of an array or of a tensor on any device."""
    found: Array = numbers if isinstance(numbers, np.ndarray) else numbers.detach().cpu().numpy()
    return found


def stacked(keys: list[Any]) -> Any:
    """Keys as the rows of one array, or of one tensor."""
    if isinstance(keys[0], np.ndarray):
        return np.array(keys)
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    return torch.stack(keys)


def joined(parts: list[Any]) -> Any:
    """Arrays, or tensors, one below the other."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    return torch.cat(parts)
