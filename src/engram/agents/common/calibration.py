"""Calibration: what is stored of a state and what its neighbours say, brought to one level.

MFEC stores the best return that was ever seen, so a state that is met again looks better than it is, and the more so
the noisier the environment. Neighbours were mostly met by earlier and worse policies, so a state that is new looks
worse than it is. An action that was taken in this very state then wins over others for no good reason.
"""

from typing import Any

import numpy as np

from engram.agents.common.aggregation import Aggregation
from engram.agents.common.episode import Finished
from engram.agents.common.estimates import estimate
from engram.memory import EpisodicMemory
from engram.running_mean import RunningMean
from engram.typing import Doubles, Floats

SPAN = 1_000  # states over which the bias of neighbours is averaged
STATES = 32  # of an episode for which it is measured, evenly apart
TOGETHER = 64  # keys that are read at once


class Calibration:
    """Reads a memory as

        Q = m + b                      where the state is not stored,
        Q = V + w (m + b − V)          where it is, with the value V,

    m being the weighted mean over its neighbours without the state itself, w the shrinkage, and b the running mean of
    R − m over states that are written, R being their return; 0 unless neighbours are to be corrected. A state counts as
    stored where an entry is within the radius of `Aggregation`.

    Args:
        memory: What is read.
        shrinkage: w, from 0 to 1.
        correct_neighbours: Whether b is measured.
        aggregation: Which states count as the same.
    """

    def __init__(
        self, memory: EpisodicMemory, *, shrinkage: float, correct_neighbours: bool, aggregation: Aggregation
    ) -> None:
        self._memory, self._shrinkage, self._corrects = memory, shrinkage, correct_neighbours
        self._aggregation = aggregation
        self._bias = RunningMean(SPAN)

    @property
    def changes_reads(self) -> bool:
        """Whether anything is read otherwise than the memory itself reads it."""
        return self._shrinkage > 0 or self._corrects or self._aggregation.radius > 0

    @property
    def correction(self) -> float:
        """b, what is added to the estimates of neighbours."""
        return self._bias.mean

    def read(self, keys: Floats, *, touch: bool = False) -> Floats:
        """Q of every key in every table, [B, key_size] → [B, actions]; with `touch` it counts as use."""
        tables = np.arange(self._memory.actions)
        values = np.empty((len(keys), len(tables)), np.float32)
        for first in range(0, len(keys), TOGETHER):
            some = keys[first : first + TOGETHER]
            rows = np.tile(tables, len(some)), some.repeat(len(tables), 0)
            found = estimate(self._memory, *rows, same=self._aggregation.square, touch=touch)
            values[first : first + TOGETHER] = self._joined(found.stored, found.near).reshape(len(some), -1)
        return values

    def _joined(self, stored: Doubles, near: Doubles) -> Doubles:
        """Q from both estimates; 0 where there is neither."""
        near = near + self._bias.mean
        shrunk = stored + self._shrinkage * (np.where(np.isnan(near), stored, near) - stored)
        joined: Doubles = np.nan_to_num(np.where(np.isnan(stored), near, shrunk))
        return joined

    def learn(self, episode: Finished) -> None:
        """Measure how far neighbours are from the returns of an episode that is about to be written."""
        if not self._corrects:
            return
        rows = np.arange(0, len(episode.actions), -(-len(episode.actions) // STATES))
        found = estimate(self._memory, episode.actions[rows], episode.keys[rows], same=self._aggregation.square)
        away = episode.returns[rows] - found.near
        for each in away[~np.isnan(away)].tolist():
            self._bias.add(each)

    def state_dict(self) -> dict[str, Any]:
        """b, where it is measured."""
        return self._bias.state_dict() if self._corrects else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        if self._corrects:
            self._bias.load_state_dict(state)
