"""What both forms of NEC's learning share: its settings, checked keys, and the learning of stored entries."""

from typing import NamedTuple

import numpy as np

from engram.errors import DivergedError
from engram.memory import EpisodicMemory
from engram.memory.arguments import KEY_LIMIT, all_usable
from engram.typing import Array, Floats
from engram.weights import require_finite

LARGEST_RETURN = 1e17  # up or down, of which float32 can hold the square of a sum


class KeySettings(NamedTuple):
    """Those of NEC's settings that its network and its learning need."""

    key_size: int
    capacity: int
    delta: float
    learn_memory: bool
    learning_rate: float
    rmsprop_decay: float
    rmsprop_epsilon: float


def checked(keys: Floats) -> Floats:
    """Keys that a memory can take; DivergedError if a number of them is not finite or too large."""
    if not all_usable(keys):
        raise DivergedError(
            f"the network gives keys that are not finite or beyond ±{KEY_LIMIT:g}; choose a smaller learning_rate"
        )
    return keys


def learn_entries(
    memory: EpisodicMemory, settings: KeySettings, entries: Array, numbers: Floats, gradients: Floats
) -> None:
    """RMSprop on stored keys and values, [U, key_size + 1], its squared averages kept beside each entry.

    An entry is given as action × capacity + slot.
    """
    actions, slots = entries // settings.capacity, entries % settings.capacity
    squares = memory.companions[actions, slots]
    squares = settings.rmsprop_decay * squares + (1 - settings.rmsprop_decay) * gradients**2
    steps = np.float32(settings.learning_rate) * gradients / np.sqrt(squares + settings.rmsprop_epsilon)
    learned = (numbers - steps).astype(np.float32)
    sound = all_usable(learned[:, :-1].copy()) and bool((np.abs(learned[:, -1]) <= LARGEST_RETURN).all())
    require_finite(sound and bool(np.isfinite(squares).all()))
    memory.adjust(actions, slots, learned[:, :-1], learned[:, -1], companions=squares)
