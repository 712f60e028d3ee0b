"""From an environment of one's own to a trained agent, a look into its memory, a page and a film: ten minutes at most.

`python examples/ten_minutes.py` trains an agent that sees nothing but pictures, and prints every command that it runs,
so that you can type them yourself in the folder of this file. Replace `Warehouse` by your own environment. Commands
name the environment each time, as a run's files never make Engram import a module.
"""

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import tyro
from gymnasium import spaces

Image = npt.NDArray[np.uint8]

MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # north, east, south, west
FLOOR, SHELF = (240, 238, 232), (120, 110, 100)
DOOR, PARCEL, ROBOT, LOADED = (0, 158, 115), (230, 159, 0), (0, 114, 178), (213, 94, 0)
PLAN = """
.......
.##.##.
....#..
.##...#
.##.#..
....##.
.......
"""


class Warehouse(gymnasium.Env[Image, np.int64]):
    """A robot fetches a parcel and brings it to the door; all that it sees is a picture from above.

    Observations are images of bytes with channels last, the most usual form. There is a reward of 0.2 for picking the
    parcel up and of 1 for delivering it.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 8}  # noqa: RUF012 (Gymnasium's interface)
    shelves = np.array([[mark == "#" for mark in line] for line in PLAN.split()])
    cell = 6  # pixels along a cell's side in an observation
    door, parcel = (0, 6), (6, 0)  # column and row

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        side = len(self.shelves) * self.cell
        self.observation_space = spaces.Box(0, 255, (side, side, 3), np.uint8)
        self.action_space = spaces.Discrete(len(MOVES))
        self.place, self.loaded = self.door, False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Image, dict[str, Any]]:
        """Begin at the door with nothing."""
        super().reset(seed=seed)
        self.place, self.loaded = self.door, False
        return self.picture(self.cell), {}

    def step(self, action: np.int64) -> tuple[Image, float, bool, bool, dict[str, Any]]:
        """Drive one cell, unless a shelf or the wall is there; pick up and deliver by being there."""
        x, y = (at + by for at, by in zip(self.place, MOVES[action], strict=True))
        if 0 <= x < len(self.shelves) and 0 <= y < len(self.shelves) and not self.shelves[y, x]:
            self.place = (x, y)
        picked = not self.loaded and self.place == self.parcel
        self.loaded |= picked
        delivered = self.loaded and self.place == self.door
        return self.picture(self.cell), 0.2 * picked + 1.0 * delivered, delivered, False, {}

    def render(self) -> Image:
        """The same picture, larger."""
        return self.picture(8 * self.cell)

    def picture(self, cell: int) -> Image:
        """The warehouse from above, with cells of this many pixels."""
        cells = np.where(self.shelves[..., None], SHELF, FLOOR).astype(np.uint8)
        for (x, y), colour in self.marks().items():
            cells[y, x] = colour
        return cells.repeat(cell, 0).repeat(cell, 1)

    def marks(self) -> dict[tuple[int, int], tuple[int, int, int]]:
        """The colours of cells that are neither floor nor shelf; the robot covers what is below it."""
        waiting = {} if self.loaded else {self.parcel: PARCEL}
        return {self.door: DOOR, **waiting, self.place: LOADED if self.loaded else ROBOT}


gymnasium.register("Warehouse-v0", "ten_minutes:Warehouse", max_episode_steps=100)


@dataclass(frozen=True)
class Tour:
    """Train an agent in an environment of one's own, and look at what came of it."""

    out: Path = Path("runs/warehouse")  # folder of the run, its pictures, its page and its film
    steps: int = 10_000  # of training

    def commands(self) -> list[str]:
        """What a user would type, in order."""
        out, env = shlex.quote(str(self.out)), "--env ten_minutes:Warehouse-v0"
        exploring = f"--epsilon-anneal-start-steps {self.steps // 5} --epsilon-anneal-end-steps {self.steps * 4 // 5}"
        memory = f"--strategy fading --capacity 100 {exploring}"
        return [
            f"engram train mfec {env} {memory} --steps {self.steps} --trace --out {out}/run",
            f"engram eval {out}/run {env} --video {out}/warehouse.gif --explain",
            f"engram inspect {out}/run {env} --out {out}/memory --film {out}/memory.gif",
            f"engram report {out}/run --out {out}/page",
        ]


def main() -> int:
    """Run every command, and print it first."""
    tour = tyro.cli(Tour)
    found = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    for command in tour.commands():
        print(f"\n$ {command}", flush=True)
        words = [sys.executable, "-m", *shlex.split(command)]
        code = subprocess.run(words, check=False, env={**os.environ, "PYTHONPATH": found}).returncode
        if code:
            return code
    print(f"\neverything is in {tour.out}: open page/index.html, memory/index.html and warehouse.gif")
    return 0


if __name__ == "__main__":
    sys.exit(main())
