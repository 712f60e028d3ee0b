"""Scaled: each dimension of a vector is standardised by what was seen at the start of training."""

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from engram.encoders.base import Encoder
from engram.envs.observed import LARGEST
from engram.errors import InvalidInputError
from engram.parts import Spaces
from engram.typing import Array, Doubles, Floats

LARGEST_CONSTANT = 1e14  # up or down, of a number that never varied: it is only shifted, and keys have limits


@dataclass
class Scaled(Encoder):
    """x ← (x − μ)/σ, with mean μ and standard deviation σ of each dimension over the first `steps` training steps.

    Then both are frozen, and saved with the agent. A dimension that never varied is only shifted: σ = 1.
    """

    steps: int = 1_000  # training steps whose observations are counted

    name = "scaled"

    def __post_init__(self) -> None:
        self.check_whole({"steps": (1, 10**9)})

    @property
    def observed_steps(self) -> int:  # type: ignore[override]
        """Training steps after which it settles."""
        return self.steps

    def build(self, spaces: Spaces, generator: np.random.Generator) -> Self:
        """An encoder for vectors of this length, before its first observation."""
        if len(spaces.observation_shape) != 1:
            raise InvalidInputError(
                f'encoder "scaled" takes vectors, got observations of shape {spaces.observation_shape}; for images use '
                '"projection" or "dct"'
            )
        built = type(self)(self.steps)
        built.key_size = spaces.observation_shape[0]
        built._set(0, np.zeros(built.key_size), np.zeros(built.key_size))
        return built

    def update(self, observation: Array) -> None:
        """Welford's update of the mean and of the sum of squared deviations, until enough was seen."""
        if self.settled:
            return
        count, away = self._count + 1, observation - self.mean
        mean = self.mean + away / count
        self._set(count, mean, self._squares + away * (observation - mean))

    def _set(self, count: int, mean: Doubles, squares: Doubles) -> None:
        """Note how many observations were counted, their mean, and the sums of their squared deviations from it."""
        self._count, self.mean, self._squares = count, mean, squares
        deviation = np.sqrt(squares / max(count, 1))
        varies = deviation > 1e-12 + 1e-7 * np.abs(mean)  # and not only by rounding
        self.scale: Doubles = 1 / np.where(varies, deviation, 1.0)
        self.settled = count >= self.steps

    def __call__(self, observations: Array) -> Floats:
        """[B, key_size] → [B, key_size]."""
        return cast(Floats, ((observations - self.mean) * self.scale).astype(np.float32))

    def state_dict(self) -> dict[str, Any]:
        """What was counted so far."""
        return {"count": self._count, "mean": self.mean.copy(), "squares": self._squares.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        count, mean, squares = state["count"], state["mean"], state["squares"]
        right = all(array.shape == (self.key_size,) and array.dtype == np.float64 for array in (mean, squares))
        if not (right and type(count) is int and 0 <= count <= self.steps):
            raise InvalidInputError(f"the scaled encoder must have counted 0 to {self.steps} vectors, got {state}")
        inside = (np.abs(mean) <= LARGEST).all() and ((squares >= 0) & (squares <= count * (2 * LARGEST) ** 2)).all()
        if not inside or (count == 0 and mean.any()):
            raise InvalidInputError("the scaled encoder's means and squares must be those of vectors of float32")
        self._set(count, mean, squares)
        if (np.abs(mean[self.scale == 1]) > LARGEST_CONSTANT).any():
            raise InvalidInputError(f"a number that never varies must be at most {LARGEST_CONSTANT:g} up or down")
