"""Calibration: what is stored of a state, what its neighbours say, and what those of other actions say, at one level.

MFEC stores the best return that was ever seen, so a state that is met again looks better than it is, and the more so
the noisier the environment. What neighbours say of a new state is off as well: too low where earlier and worse policies
met them, too high where they lie on a good way that the state is beside. Yet the two are compared with each other, and
what neighbours say of one action with what they say of another, from near there and from afar here.
"""

from typing import Any

import numpy as np

from engram.agents.common.aggregation import Aggregation
from engram.agents.common.episode import Finished
from engram.agents.common.estimates import Estimates, estimate, estimate_everywhere
from engram.memory import EpisodicMemory
from engram.running_mean import RunningMean
from engram.typing import Doubles, Floats, Longs

SPAN = 1_000  # states over which what is measured is averaged
STATES = 32  # of an episode that are measured, evenly apart
TOGETHER = 64  # keys that are read at once


class Calibration:
    """Reads a memory as

        Q = m + b                      where the state is not stored,
        Q = V + w (m + b − V)          where it is, with the value V,

    m being the weighted mean over its neighbours without the state itself, pulled towards what the k nearest entries of
    all actions say by so many of the weights that an entry as far as the kᵗʰ of them has:

        m = (Σᵢ wᵢ Rᵢ + p R̄) / (Σᵢ wᵢ + p)

    A state counts as stored where an entry is within the radius of `Aggregation`. What is measured is measured of
    states that are about to be written, R being the return that followed, as running means:

        b = ⟨R − m⟩, over states that are not stored or over all
        w = ⟨(R − V)(m + b − V)⟩/⟨(m + b − V)²⟩, from 0 to 1, for which (R − Q)² is smallest

    Args:
        memory: What is read.
        shrinkage: w, from 0 to 1; None: it is measured.
        correct_by: Of which states b is measured, "new" ones that are not stored, or "all"; "none": b is 0.
        pooling: p.
        aggregation: Which states count as the same.
    """

    def __init__(
        self,
        memory: EpisodicMemory,
        *,
        shrinkage: float | None,
        correct_by: str,
        pooling: float,
        aggregation: Aggregation,
    ) -> None:
        self._memory, self._aggregation, self._pooling = memory, aggregation, pooling
        self._shrinkage, self._correct_by = shrinkage, correct_by
        self._means = {name: RunningMean(SPAN) for name in ("bias", "product", "square")}
        self._last: tuple[Any, Floats] | None = None  # the keys that were read last, and their distances

    @property
    def _measures(self) -> bool:
        """Whether anything is measured."""
        return self._correct_by != "none" or self._shrinkage is None

    @property
    def changes_reads(self) -> bool:
        """Whether anything is read otherwise than the memory itself reads it."""
        return self._measures or bool(self._shrinkage) or self._pooling > 0 or self._aggregation.radius > 0

    @property
    def correction(self) -> float:
        """b, what is added to the estimates of neighbours."""
        return self._means["bias"].mean if self._correct_by != "none" else 0.0

    @property
    def shrinkage(self) -> float:
        """w, how far a stored value goes towards its neighbours."""
        if self._shrinkage is not None:
            return self._shrinkage
        square = self._means["square"].mean
        return min(max(self._means["product"].mean / square, 0.0), 1.0) if square > 0 else 0.0

    def read(self, keys: Floats, *, touch: bool = False) -> Floats:
        """Q of every key in every table, [B, key_size] → [B, actions]; with `touch` it counts as use."""
        values, distances = np.empty((2, len(keys), self._memory.actions), np.float32)
        for first in range(0, len(keys), TOGETHER):
            some = slice(first, first + TOGETHER)
            found = self._everywhere(keys[some], touch=touch)
            values[some], distances[some] = self._joined(found.stored, found.near), found.nearest
        self._last = keys, distances
        return values

    def nearest_distances(self, keys: Floats) -> Floats:
        """d² to the nearest entry of every table, [B, key_size] → [B, actions]; known of keys that were just read."""
        if self._last is not None and self._last[0] is keys:
            return self._last[1]
        return self._memory.nearest_distances(keys)

    def _joined(self, stored: Doubles, near: Doubles) -> Doubles:
        """Q from both estimates; 0 where there is neither."""
        near = near + self.correction
        shrunk = stored + self.shrinkage * (np.where(np.isnan(near), stored, near) - stored)
        joined: Doubles = np.nan_to_num(np.where(np.isnan(stored), near, shrunk))
        return joined

    def learn(self, episode: Finished) -> None:
        """Measure how both estimates compare with the returns of an episode that is about to be written."""
        if not self._measures:
            return
        rows = np.arange(0, len(episode.actions), -(-len(episode.actions) // STATES))
        returns = episode.returns[rows].astype(np.float64)
        found = self._of_taken(episode.actions[rows], episode.keys[rows])
        way = found.near + self.correction - found.stored
        counted = np.isnan(found.stored) | (self._correct_by == "all")
        self._add("bias", (returns - found.near)[counted])
        self._add("product", (returns - found.stored) * way)
        self._add("square", way**2)

    def _everywhere(self, keys: Floats, *, touch: bool = False) -> Estimates:
        """Both estimates of every key in every table, [B, actions]."""
        same, pooling = self._aggregation.square, self._pooling
        return estimate_everywhere(self._memory, keys, same=same, pooling=pooling, touch=touch)

    def _of_taken(self, actions: Longs, keys: Floats) -> Estimates:
        """Both estimates of every key in the table of its own action, [B]."""
        if not self._pooling:
            return estimate(self._memory, actions, keys, same=self._aggregation.square)
        rows, found = np.arange(len(keys)), self._everywhere(keys)
        return Estimates(found.stored[rows, actions], found.near[rows, actions], found.nearest[rows, actions])

    def _add(self, name: str, numbers: Doubles) -> None:
        for number in numbers[~np.isnan(numbers)].tolist():
            self._means[name].add(number)

    def state_dict(self) -> dict[str, Any]:
        """What was measured, if anything is."""
        return {name: mean.state_dict() for name, mean in self._means.items()} if self._measures else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        if self._measures:
            for name, mean in self._means.items():
                mean.load_state_dict(state[name])
