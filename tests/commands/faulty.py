"""An environment with one fault, by the name of its option."""

import os
from typing import Any

import gymnasium
import numpy as np


class Odd(BaseException):
    pass


ERRORS = {kind.__name__: kind for kind in (SystemExit, KeyboardInterrupt, GeneratorExit, Odd)}


class Faulty(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 (Gymnasium's interface)

    def __init__(self, fault: str = "none", after: int = 30, render_mode: str | None = None) -> None:
        self.fault, self.after, self.render_mode, self.count = fault, after, render_mode, 0
        self.fails("init")

    def fails(self, fault: str) -> None:
        if fault == self.fault:
            raise ZeroDivisionError(f"no [bold]luck[/b] in {fault}")
        if self.fault.endswith(f" in {fault}"):
            raise ERRORS[self.fault.partition(" ")[0]]("out")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.fails("reset")
        answers = {"old reset": self.seen(), "reset info": (self.seen(), None), "reset none": None}
        return answers.get(self.fault, (self.seen(), {}))

    def step(self, action: Any) -> Any:
        self.count += 1
        if self.fault == "chdir":
            os.chdir("/")
        seen, end = self.seen(), self.fault != "endless" and self.count % 9 == 0
        if self.count < self.after:
            return seen, 1.0, end, False, {}
        self.fails("step")
        answers: dict[str, Any] = {
            "old step": (seen, 1.0, end, {}),
            "step none": None,
            "reward array": (seen, np.ones(2), end, False, {}),
            "reward vector": (seen, np.ones(1), end, False, {}),
            "reward none": (seen, None, end, False, {}),
            "reward text": (seen, "1.5", end, False, {}),
            "reward nan": (seen, float("nan"), end, False, {}),
            "terminated array": (seen, 1.0, np.array([False, True]), False, {}),
            "terminated none": (seen, 1.0, None, False, {}),
            "truncated text": (seen, 1.0, end, "False", {}),
            "info none": (seen, 1.0, end, False, None),
            "shape": (np.zeros(3, np.float32), 1.0, end, False, {}),
            "text": ("here", 1.0, end, False, {}),
            "nothing": (None, 1.0, end, False, {}),
            "ragged": ([[1], [2, 3]], 1.0, end, False, {}),
            "nan": (np.array([np.nan, 0], np.float32), 1.0, end, False, {}),
        }
        return answers.get(self.fault, (seen, np.float64(1), np.bool_(end), False, {}))

    def seen(self) -> Any:
        numbers = self.np_random.random(2)
        return numbers if self.fault == "doubles" else numbers.astype(np.float32)

    def close(self) -> None:
        self.fails("close")

    def render(self) -> Any:
        self.fails("render")
        pictures = {"render none": None, "render text": "picture", "render floats": np.zeros((4, 4, 3))}
        return pictures.get(self.fault, np.zeros((40, 40, 3), np.uint8))


gymnasium.register("Faulty-v0", entry_point="tests.commands.faulty:Faulty", disable_env_checker=True)
