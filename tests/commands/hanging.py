"""An environment that stops answering where the variable HANG says: `where:how:after` so many calls."""

import os
import time
from collections import deque
from itertools import repeat
from typing import Any

import gymnasium
import numpy as np

from engram.typing import Floats

MADE = [0]


class Hanging(gymnasium.Env[Floats, np.int64]):
    observation_space = gymnasium.spaces.Box(-1, 2, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        self.where, self.how, after = os.environ.get("HANG", "nowhere:sleep:0").split(":")
        self.left, self.time = int(after), 0
        self.number, MADE[0] = MADE[0], MADE[0] + 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Floats, dict[str, Any]]:
        super().reset(seed=seed)
        self.meet("reset")
        self.time = 0
        return self.np_random.random(2).astype(np.float32), {}

    def step(self, action: Any) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        self.meet("step" if self.number == 0 else "evaluation")  # the first that is made is trained in
        self.time += 1
        return self.np_random.random(2).astype(np.float32), float(action), self.time == 7, False, {}

    def meet(self, where: str) -> None:
        self.left -= where == self.where
        if where != self.where or self.left > 0:
            return
        print("hanging", flush=True)
        if self.how == "lock":
            deque(repeat(0), maxlen=0)  # in C, and never comes back to the interpreter
        while True:
            try:
                while self.how == "loop":
                    pass
                time.sleep(1000)
            except BaseException:
                if self.how != "swallow":
                    raise


gymnasium.register("Hanging-v0", entry_point="tests.commands.hanging:Hanging")
