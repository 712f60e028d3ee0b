"""Episodes that wait for their encoder to settle before they are written to a memory."""

from typing import Any

import numpy as np

from engram.agents.common.episode import Finished, within_limit
from engram.errors import InvalidInputError
from engram.parts import Spaces


class Waiting:
    """Episodes whose observations could not be encoded yet, because their encoder had not settled."""

    def __init__(self) -> None:
        self.episodes: list[Finished] = []  # with observations in the place of keys

    def state_dict(self) -> dict[str, Any]:
        """All episodes one after the other, and where each ends."""
        if not self.episodes:
            return {}
        columns = {
            name: np.concatenate([getattr(each, name) for each in self.episodes])
            for name in ("keys", "states", "actions", "returns")
        }
        lengths = np.array([len(each.actions) for each in self.episodes], np.int64)
        return {**columns, "lengths": lengths, "totals": np.array([each.total for each in self.episodes])}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self.episodes = []
        if not state:
            return
        lengths, totals, steps = state["lengths"], state["totals"], len(state["actions"])
        facts = {
            "lengths are whole numbers from 1": lengths.ndim == 1
            and lengths.dtype == np.int64
            and (lengths >= 1).all(),
            "lengths add up to the number of steps": lengths.astype(np.float64).sum() == steps,
            "every episode has its return": totals.shape == lengths.shape
            and totals.dtype == np.float64
            and np.isfinite(totals).all(),
        }
        facts |= {
            f"{name} are {np.dtype(dtype)}, one for each step": state[name].shape == (steps,)
            and state[name].dtype == dtype
            for name, dtype in (("states", np.uint64), ("actions", np.int64), ("returns", np.float32))
        }
        for fact, holds in facts.items():
            if not holds:
                raise InvalidInputError(
                    f"episodes that wait for their encoder to settle are not valid: expected that {fact}"
                )
        ends = np.cumsum(lengths)[:-1]
        columns = [np.split(state[name], ends) for name in ("keys", "states", "actions", "returns")]
        for keys, states, actions, returns, total in zip(*columns, totals.tolist(), strict=True):
            self.episodes.append(Finished(keys, states, actions, returns, total))

    def check(self, spaces: Spaces) -> None:
        """Raise InvalidInputError unless every episode can be encoded and written."""
        for each in self.episodes:
            right = each.keys.shape == (len(each.actions), *spaces.observation_shape)
            right &= each.keys.dtype == spaces.observation_dtype and each.states.shape == each.returns.shape
            inside = bool(((each.actions >= 0) & (each.actions < spaces.actions)).all())
            if not (right and inside and np.isfinite(each.returns).all() and within_limit(each.keys)):
                raise InvalidInputError("an episode that waits for its encoder to settle is not valid")
