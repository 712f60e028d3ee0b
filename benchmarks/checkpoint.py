"""What checkpoints cost, as a share of a run's time at the default cadence.

MFEC with 5,000 full entries per action on CartPole, and D3QN with 10⁵ stacked frames of 84 × 84 pixels in its replay.
Measured are whole checkpoints, with everything that puts them safely on the disk.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

from engram import D3QN, MFEC
from engram.agents import Agent
from engram.runs.cadence import Cadence
from engram.runs.checkpoints import Checkpoints

FRAMES = 100_000
NEW_FRAMES = 10_000  # between two checkpoints: 33 steps a second for five minutes


class Row(NamedTuple):
    """One kind of checkpoint."""

    name: str
    seconds: float
    cadence: float

    @property
    def share(self) -> float:
        """Of the run's time."""
        return self.seconds / (self.cadence + self.seconds)


class Screens(gymnasium.Env[Any, Any]):
    """Frames of noise: the worst that a replay can be given."""

    observation_space: Any = gymnasium.spaces.Box(0, 255, (4, 84, 84), np.uint8)
    action_space = gymnasium.spaces.Discrete(6)

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)
        self.frames = np.zeros((4, 84, 84), np.uint8)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.frames.copy(), {}

    def step(self, action: Any) -> Any:
        self.frames[:-1] = self.frames[1:]
        self.frames[-1] = self.rng.integers(0, 255, (84, 84), np.uint8)
        return self.frames.copy(), 0.0, False, False, {}


def save(agent: Agent, checkpoints: Checkpoints) -> float:
    begin = perf_counter()
    checkpoints.save(agent.steps, agent.state_dict(), {"bytes": 0, "digest": ""})
    return perf_counter() - begin


def main() -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(dir=".") as folder:
        final: dict[str, Any] = {
            "epsilon_initial": 0.005,
            "epsilon_anneal_start_steps": 0,
            "epsilon_anneal_end_steps": 0,
        }
        mfec = MFEC("CartPole-v1", capacity=5_000, seed=0, **final)
        while (mfec.memory.size < 5_000).any():
            mfec.learn(1_000)
        checkpoints = Checkpoints(Path(folder), "mfec")
        times = [save(mfec.learn(100), checkpoints) for _ in range(9)]
        rows.append(Row("MFEC, N = 5,000, CartPole", median(times), Cadence.of(mfec).seconds))
        checkpoints.clear()

        d3qn = D3QN(Screens, seed=0, replay_size=FRAMES, learning_start_steps=10**9).learn(FRAMES)
        checkpoints = Checkpoints(Path(folder), "d3qn")
        rows.append(Row("D3QN, 10⁵ frames, the first", save(d3qn, checkpoints), Cadence.of(d3qn).seconds))
        times = [save(d3qn.learn(NEW_FRAMES), checkpoints) for _ in range(3)]
        rows.append(Row("D3QN, 10⁵ frames, each after it", median(times), Cadence.of(d3qn).seconds))
    table = Table(title="A checkpoint at the default cadence")
    for column in ("run", "seconds", "every … seconds", "share of the run's time"):
        table.add_column(column, justify="left" if column == "run" else "right")
    for row in rows:
        table.add_row(row.name, f"{row.seconds:.3f}", f"{row.cadence:.0f}", f"{row.share:.2%}")
    Console().print(table)
    return rows


if __name__ == "__main__":
    main()
