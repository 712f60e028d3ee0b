"""What both forms of D3QN's learning share: its settings, and how heads become Q-values."""

from typing import NamedTuple

import numpy as np

from engram.replay.transitions import Batch
from engram.typing import Array, Floats


class QSettings(NamedTuple):
    """Those of D3QN's settings that its networks and their learning need."""

    discount: float
    feature_size: int
    dueling: bool
    double: bool
    bootstrap_truncated: bool
    learning_rate: float
    rmsprop_decay: float
    rmsprop_epsilon: float

    def ended(self, batch: Batch) -> Array:
        """Transitions that nothing follows, [B]."""
        return batch.terminated if self.bootstrap_truncated else batch.terminated | batch.truncated


def combination(actions: int, dueling: bool) -> Floats:
    """The matrix that makes Q of the heads V and A, [1 + actions, actions]: Q = V + A − mean A. If not dueling, 1."""
    if not dueling:
        return np.eye(actions, dtype=np.float32)
    return np.vstack([np.ones(actions), np.eye(actions) - 1 / actions]).astype(np.float32)
