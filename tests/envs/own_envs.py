"""Environments and wrappers as users write them, each with something that needs care."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from engram.typing import Array


class Walk(gymnasium.Env[Any, Any]):
    """Six cells in a row, of which the last pays 1; how they are shown is said by an option. No render mode."""

    def __init__(self, shown: str = "dict", limit: int = 30) -> None:
        self.shown, self.limit, self.cell, self.count = shown, limit, 0, 0
        self.observation_space = SPACES[shown]
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.count = int(self.np_random.integers(2)), 0
        return self.seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.cell, self.count = max(self.cell + (1 if action == 1 else -1), 0), self.count + 1
        done = self.cell == 5
        return self.seen(), float(done), done, self.count >= self.limit, {}

    def seen(self) -> Any:
        cell = self.cell
        picture = np.zeros((7, 6), np.uint8)
        picture[3, cell] = 255
        return {
            "dict": {
                "far": np.array([cell / 5, 1], np.float32),
                "kind": cell % 2,
                "bits": np.array([cell > 2, 0], np.int8),
            },
            "tuple": (cell, np.array([cell], np.float32)),
            "number": cell + 3,
            "numbers": np.array([cell, cell % 2]),
            "bits": np.array([[cell & 1, cell & 2], [cell & 4, 0]], np.int8) > 0,
            "matrix": np.array([[cell, 0], [0, 1]], np.float32),
            "image": np.stack([picture, picture // 2, picture * 0], axis=-1),
            "floats": (np.stack([picture, picture // 2, picture * 0], axis=-1) / 255).astype(np.float32),
            "bools": np.stack([picture, picture], axis=-1) > 0,
            "stack": np.stack([picture[..., None]] * 2),
        }[self.shown]

    def render(self) -> Any:
        return np.repeat(np.repeat(self.picture(), 8, axis=0), 8, axis=1)

    def picture(self) -> Array:
        picture = np.zeros((2, 6, 3), np.uint8)
        picture[:, self.cell] = 255
        return picture


SPACES: dict[str, spaces.Space[Any]] = {
    "dict": spaces.Dict(far=spaces.Box(0, 1, (2,), np.float32), kind=spaces.Discrete(2), bits=spaces.MultiBinary(2)),
    "tuple": spaces.Tuple((spaces.Discrete(6), spaces.Box(0, 5, (1,), np.float32))),
    "number": spaces.Discrete(6, start=3),
    "numbers": spaces.MultiDiscrete([6, 2]),
    "bits": spaces.MultiBinary((2, 2)),
    "matrix": spaces.Box(0, 9, (2, 2), np.float32),
    "image": spaces.Box(0, 255, (7, 6, 3), np.uint8),
    "floats": spaces.Box(0, 1, (7, 6, 3), np.float32),
    "bools": spaces.Box(0, 1, (7, 6, 2), np.bool_),
    "stack": spaces.Box(0, 255, (2, 7, 6, 1), np.uint8),
}


class Half(gymnasium.RewardWrapper[Any, Any]):
    """Rewards divided by a number."""

    def __init__(self, env: gymnasium.Env[Any, Any], by: float = 2.0) -> None:
        super().__init__(env)
        self.by = by

    def reward(self, reward: Any) -> float:
        return float(reward) / self.by


class Counting(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Adds to every observation how many were made; remembers it, and can tell."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.count = 0

    def observation(self, observation: Any) -> Any:
        self.count += 1
        return observation + np.float32(self.count / 1000)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.count = state["count"]


class Hidden(gymnasium.ObservationWrapper[Any, Any, Any]):
    """Keeps statistics that nobody can save."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.statistics = gymnasium.wrappers.utils.RunningMeanStd(shape=(4,))  # type: ignore[no-untyped-call]

    def observation(self, observation: Any) -> Any:
        self.statistics.update(observation[None])  # type: ignore[no-untyped-call]
        return (observation - self.statistics.mean).astype(np.float32)


class Masked(gymnasium.Env[Any, Any]):
    """Six cells; of four actions two are possible in each, one of which leads on. The others raise an error."""

    observation_space = spaces.Box(0, 9, (1,), np.float32)
    action_space = spaces.Discrete(4, start=1)

    def __init__(self, fault: str = "") -> None:
        self.fault, self.cell, self.count = fault, 0, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell, self.count = int(self.np_random.integers(3)), 0
        return self.seen(), {"action_mask": self.mask()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if not self.mask()[action - 1]:
            raise ValueError(f"action {action} is not possible in cell {self.cell}")
        self.count += 1
        self.cell = max(self.cell + (1 if action - 1 == (self.cell + 1) % 4 else -1), 0)
        done = self.cell == 6
        mask: Any = np.zeros(4, np.int8) if done else self.mask()  # where the game is over nothing is possible
        faults = {"none": np.zeros(4, np.int8), "long": np.ones(5, np.int8), "float": np.ones(4)}
        return self.seen(), float(done), done, self.count >= 40, {"action_mask": faults.get(self.fault, mask)}

    def seen(self) -> Any:
        return np.array([self.cell], np.float32)

    def mask(self) -> Array:
        mask = np.zeros(4, np.int8)
        mask[[self.cell % 4, (self.cell + 1) % 4]] = 1
        return mask


class Blind(Masked):
    """One that takes no render mode and shows nothing."""

    def render(self) -> Any:
        return None


for kind in (Walk, Masked, Blind):
    gymnasium.register(f"{kind.__name__}-v0", entry_point=kind)  # type: ignore[arg-type]
