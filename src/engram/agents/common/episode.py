"""An episode on its way into a memory: step by step while it lasts, whole when it has ended."""

from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from engram.errors import InvalidInputError
from engram.memory import EpisodicMemory
from engram.training.events import total_of
from engram.typing import Array, Floats, Longs, States


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
    """What was seen, done and received in the unfinished episode: one entry of each list per step."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget everything."""
        self.keys: list[Any] = []  # while the encoder has not settled, observations
        self.states: list[int] = []
        self.actions: list[int] = []
        self.rewards: list[float] = []
        self.best: list[float] = []  # max over a of Q(s, a) when the state was visited; only NEC needs it

    def __len__(self) -> int:
        return len(self.actions)

    def add(self, key: Any, state: int, action: int) -> None:
        """Begin a step."""
        self.keys.append(key)
        self.states.append(state)
        self.actions.append(action)

    def finish(self, returns: Floats) -> Finished:
        """The finished episode with its returns; the buffers are empty afterwards."""
        keys = np.array(self.keys) if isinstance(self.keys[0], np.ndarray) else stack_tensors(self.keys)
        states, actions = np.array(self.states, np.uint64), np.array(self.actions)
        finished = Finished(keys, states, actions, returns, total_of(self.rewards))
        self.clear()
        return finished

    def state_dict(self) -> dict[str, Any]:
        """The lists as arrays; `best` only where it is kept."""
        state: dict[str, Any] = {
            "keys": np.array([as_array(key) for key in self.keys], np.float32 if not self.keys else None),
            "states": np.array(self.states, np.uint64),
            "actions": np.array(self.actions, np.int32),
            "rewards": np.array(self.rewards, np.float64),
        }
        return state | ({"best": np.array(self.best, np.float64)} if self.best else {})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.keys = list(state["keys"])
        self.states, self.actions = state["states"].tolist(), state["actions"].tolist()
        self.rewards, self.best = state["rewards"].tolist(), state.get("best", np.zeros(0)).tolist()

    def check(
        self, length: int, shape: tuple[int, ...], actions: int, *, has_best: bool = False, pending: bool = False
    ) -> None:
        """Raise InvalidInputError unless there are so many steps, with keys of this shape and possible actions.

        With `pending` there is one more, whose reward is not known yet.
        """
        begun = length + pending
        lists: list[list[Any]] = [self.keys, self.states, self.actions, *([self.best] if has_best else [])]
        same = all(len(each) == begun for each in lists) and len(self.rewards) == length
        same = same and (has_best or not self.best)
        inside = all(0 <= action < actions for action in self.actions) and all(
            tuple(key.shape) == shape for key in self.keys
        )
        finite = all(isfinite(number) for number in (*self.rewards, *self.best)) and all(
            bool(np.isfinite(as_array(key)).all()) for key in self.keys
        )
        if not (same and inside and finite):
            raise InvalidInputError(
                f"the unfinished episode is not valid: it should have {length} steps with actions from 0 to "
                f"{actions - 1}, keys of shape {shape} and finite numbers"
            )


def as_array(numbers: Any) -> Array:
    """A NumPy array of an array or of a tensor on any device."""
    array: Array = numbers if isinstance(numbers, np.ndarray) else numbers.detach().cpu().numpy()
    return array


def stack_tensors(keys: list[Any]) -> Any:
    """A stack of tensors."""
    from engram.devices import torch  # noqa: PLC0415 (an extra)

    return torch.stack(keys)
