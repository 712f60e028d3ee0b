"""An episode on its way into a memory: step by step while it lasts, whole when it has ended."""

from array import array
from typing import Any, NamedTuple

import numpy as np

from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.memory.arguments import KEY_LIMIT
from engram.parts import Spaces
from engram.training.environment import LARGEST_REWARD
from engram.training.events import total_of
from engram.typing import Array, Floats, Longs, States

FEWEST_ROWS = 64  # for which there is room in a new episode


class Finished(NamedTuple):
    """An episode that ended: one row per step, and its whole return."""

    keys: Any  # [T, key_size], as arrays or tensors
    states: States  # [T]
    actions: Longs  # [T]
    returns: Floats  # [T], what followed each step
    total: float  # undiscounted return of the whole episode

    def write_to(self, memory: EpisodicMemory) -> None:
        """Write every state into the table of the action taken there, in order of time."""
        for action in range(memory.actions):
            taken = np.flatnonzero(self.actions == action)
            if len(taken):
                memory.write(
                    action,
                    self.keys[taken],
                    self.returns[taken],
                    states=self.states[taken],
                    episode_return=self.total,
                )


class Episode:
    """What was seen, done and received in the unfinished episode, packed: about as many bytes as the numbers have.

    The last step may still be going on: then it has no reward yet.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self._rows: Array = np.zeros((0, 0), np.float32)  # keys, with room for more
        self._tensors: list[Any] = []  # keys on a GPU
        self.states = array("Q")
        self.actions = array("q")
        self.rewards = array("d")
        self.best = array("d")  # max over a of Q(s, a) when the state was visited; only NEC needs it

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def keys(self) -> Any:
        """Keys [T, key_size] as an array or a tensor; while the encoder has not settled, observations."""
        return stack_tensors(self._tensors) if self._tensors else self._rows[: len(self)]

    def replace_keys(self, keys: Any) -> None:
        """Take other keys in the place of those of the steps so far."""
        self._rows, self._tensors = (keys, []) if isinstance(keys, np.ndarray) else (self._rows[:0], list(keys))

    def add(self, key: Any, state: int, action: int) -> None:
        """Begin a step."""
        step = len(self.actions)
        if not isinstance(key, np.ndarray):
            self._tensors.append(key)
        elif step < len(self._rows):
            self._rows[step] = key
        else:
            self._rows = grown(self._rows, step, key)
        self.states.append(state)
        self.actions.append(action)

    def finish(self, returns: Floats) -> Finished:
        """The finished episode with its returns; the buffers are empty afterwards."""
        states, actions = np.array(self.states, np.uint64), np.array(self.actions, np.int64)
        finished = Finished(self.keys, states, actions, returns, total_of(self.rewards))
        self.clear()
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
        self._rows = state["keys"] if len(state["keys"]) else self._rows
        for name in ("states", "actions", "rewards", "best"):
            getattr(self, name).extend(numbers[name].tolist())

    def check(self, length: int, begun: int, spaces: Spaces, *, key: tuple[Any, Any], has_best: bool = False) -> None:
        """Raise InvalidInputError unless so many steps have ended and begun, with keys of this shape and dtype."""
        shape, dtype = key
        keys = as_array(self.keys) if begun else np.zeros((0, *shape), dtype)
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


def grown(rows: Array, count: int, row: Array) -> Array:
    """An array that begins with the first `count` rows and this one, with room for as many again."""
    larger = np.empty((max(2 * count, FEWEST_ROWS), *row.shape), row.dtype)
    if count:
        larger[:count] = rows
    larger[count] = row
    return larger


def as_array(numbers: Any) -> Array:
    """A NumPy array of an array or of a tensor on any device."""
    found: Array = numbers if isinstance(numbers, np.ndarray) else numbers.detach().cpu().numpy()
    return found


def stack_tensors(keys: list[Any]) -> Any:
    """A stack of tensors."""
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    return torch.stack(keys)
