"""How often a run writes a checkpoint."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from engram.agents import Agent


@dataclass(frozen=True)
class Cadence:
    """How often a checkpoint is written: after so many seconds or, if given, after every so many steps."""

    seconds: float = 60.0
    steps: int | None = None

    @classmethod
    def of(cls, agent: Agent) -> Self:
        """Every 60 seconds; every 300 for an agent with a replay of images, which takes longer to write."""
        frames = agent.has_replay and len(agent.spaces.observation_shape) == 3
        return cls(300.0 if frames else 60.0)

    def clock(self, step: int) -> Callable[[int], bool]:
        """A function that says whether a checkpoint is due at a step, by a clock that is never set."""
        last_time, last_step = time.monotonic(), step

        def due(step: int) -> bool:
            nonlocal last_time, last_step
            now = time.monotonic()
            is_due = step - last_step >= self.steps if self.steps is not None else now - last_time >= self.seconds
            if is_due:
                last_time, last_step = now, step
            return is_due

        return due
