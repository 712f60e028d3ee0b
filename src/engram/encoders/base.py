"""What an encoder is: it turns observations into keys, always the same key for the same observation."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engram.errors import InvalidInputError
from engram.parts import Part, Spaces
from engram.typing import Array


class Encoder(Part):
    """Turns a batch of observations into keys.

    To write your own, derive from this class, set `key_size` in `build`, and define `__call__`. The key of an
    observation must have the same bits alone and in any batch: a state is found again by them. An encoder that
    first has to see some observations gets every one of training through `update`, and says by `settled` when its
    keys will not change any more. Until then all values are 0, and what was met is written when it settles.
    """

    key_size: int  # numbers in a key; set by `build`
    settled: bool = True  # keys will not change any more
    observed_steps: int = 0  # training steps after which it settles, as far as that is known beforehand

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one encoded observation, as a network behind the encoder sees it."""
        return (self.key_size,)

    def __call__(self, observations: Array) -> Any:
        """[B, …] → [B, key_size] float32, in memory of its own."""
        raise NotImplementedError(f"the encoder {self.name!r} must define __call__(observations)")

    def update(self, observation: Array) -> None:
        """Learn from an observation. Called once for every training step, and never otherwise."""


def build_encoder(recipe: Encoder, spaces: Spaces, generator: np.random.Generator) -> Encoder:
    """An agent's own encoder, if what was built is one that can be used."""
    built: Any = recipe.build(spaces, generator)
    size = getattr(built, "key_size", None)
    if not isinstance(built, Encoder) or not isinstance(size, int | np.integer) or isinstance(size, bool) or size < 1:
        raise InvalidInputError(
            f"build of the encoder {recipe.name!r} must return an encoder with key_size set to 1 or more, "
            f"got {built!r} with key_size {size!r}"
        )
    return built


class CheckedEncoder:
    """An encoder of the user's own, whose keys are checked each time: it is called as the encoder itself is."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def __call__(self, observations: Array) -> Any:
        """[B, …] → [B, *shape] float32; InvalidInputError, naming the encoder, for anything else."""
        given, expected = self._encoder(observations), (len(observations), *self._encoder.shape)
        found, dtype = tuple(getattr(given, "shape", ())), getattr(given, "dtype", type(given).__name__)
        if (
            not isinstance(given, np.ndarray)
            or found != expected
            or dtype != np.float32
            or not np.isfinite(given).all()
        ):
            raise InvalidInputError(
                f"the encoder {self._encoder.name!r} must give finite float32 of shape {list(expected)} for "
                f"{len(observations)} observations, gave {dtype} of shape {list(found)}: {given!s:.100}"
            )
        return np.require(given, np.float32, ("C", "W"))


def checked(encoder: Encoder) -> Callable[[Array], Any]:
    """What to call for keys: a built-in encoder itself, one of the user's own with a check of what it gives."""
    return encoder if encoder.is_built_in else CheckedEncoder(encoder)
