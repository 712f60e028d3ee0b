"""Episodes that wait for their encoder to settle before they are written to a memory."""

from typing import Any

import numpy as np

from engram.agents.common.episode import Finished
from engram.errors import InvalidInputError


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
        ends = np.cumsum(state["lengths"])[:-1]
        columns = [np.split(state[name], ends) for name in ("keys", "states", "actions", "returns")]
        for keys, states, actions, returns, total in zip(*columns, state["totals"].tolist(), strict=True):
            self.episodes.append(Finished(keys, states, actions, returns, total))

    def check(self, shape: tuple[int, ...], actions: int) -> None:
        """Raise InvalidInputError unless every episode can be encoded and written."""
        for each in self.episodes:
            right = each.keys.shape == (len(each.actions), *shape) and each.states.shape == each.returns.shape
            inside = bool(((each.actions >= 0) & (each.actions < actions)).all())
            if not (right and inside and np.isfinite(each.returns).all() and np.isfinite(each.keys).all()):
                raise InvalidInputError("an episode that waits for its encoder to settle is not valid")
