"""Environments that take no time, for campaigns that learn in them thousands of times."""

from typing import Any

import gymnasium
import numpy as np

from engram.typing import Array


class Vectors(gymnasium.Env[Array, np.int64]):
    """Three numbers that wander, two actions, episodes of up to twelve steps."""

    observation_space: Any = gymnasium.spaces.Box(-10, 10, (3,), np.float32)
    action_space: Any = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.time = np.full(3, (seed or 0) % 5, np.float32), 0
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        self.time += 1
        self.place[self.time % 3] += np.float32(int(action) - 0.4)
        return self.seen(), float(action) - 0.3, self.time >= 12, self.time % 7 == 6, {}

    def seen(self) -> Array:
        """The observation."""
        return self.place.copy()


class Pictures(Vectors):
    """The same as two stacked pictures of 34 × 34 pixels, in which a bar moves."""

    observation_space: Any = gymnasium.spaces.Box(0, 255, (2, 34, 34), np.uint8)

    def seen(self) -> Array:
        """The observation."""
        frames = np.zeros((2, 34, 34), np.uint8)
        for number, place in enumerate(self.place[:2]):
            frames[number, int(place * 3) % 34] = 200
        return frames
