"""The paper's grid rooms: walk from the top left corner to the bottom right one; the observation is the position."""

from functools import cached_property
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from engram import checks
from engram.errors import InvalidInputError
from engram.typing import Floats

Image = npt.NDArray[np.uint8]

OPEN_ROOM = """
############
#S.........#
#..........#
#..........#
#..........#
#..........#
#..........#
#..........#
#..........#
#..........#
#.........G#
############
"""

FOUR_ROOM = """
#############
#S....#.....#
#.....#.....#
#...........#
#.....#.....#
#.....#.....#
##.####.....#
#.....###.###
#.....#.....#
#.....#.....#
#...........#
#.....#....G#
#############
"""

PLANS = {"engram/OpenRoom-v0": OPEN_ROOM, "engram/FourRoom-v0": FOUR_ROOM}
MAX_EPISODE_STEPS = 100

WALL, FLOOR, START, GOAL, AGENT = "#.SG@"
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # N E S W

CELL = 32  # pixels along a cell's side; even, because video encoders need even sides
WALL_COLOUR, FLOOR_COLOUR, LINE_COLOUR = (52, 58, 70), (247, 245, 240), (224, 220, 211)
GOAL_COLOUR, AGENT_COLOUR = (230, 159, 0), (0, 114, 178)  # Okabe and Ito's orange and blue
_OFFSETS = np.arange(CELL) - CELL / 2  # 0 in the middle of the 31 pixels beside the grid line
_DISTANCE = np.hypot(_OFFSETS[:, None, None], _OFFSETS[:, None])
DISC = np.clip(0.34 * CELL - _DISTANCE + 0.5, 0, 1)  # the agent [CELL, CELL, 1], anti-aliased


class Room(gymnasium.Env[Floats, int | np.int64]):
    """A grid of cells in which actions 0 to 3 go north, east, south and west; a wall stops them.

    The observation is (x, y): the column and the row, both counted from 1 inside the border, rows from the top, so
    that north lowers y. The reward is 1 on reaching the goal, which ends the episode, and 0 otherwise.

    Args:
        plan: A drawing of the room: # wall, . floor, S start, G goal; its border must be wall.
        render_mode: "rgb_array" for an image, "ansi" for the plan with the agent as @.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # noqa: RUF012 (Gymnasium's interface)

    def __init__(self, plan: str = OPEN_ROOM, *, render_mode: str | None = None) -> None:
        self.plan = _checked_plan(plan)
        if render_mode is not None:
            checks.one_of("render_mode", render_mode, self.metadata["render_modes"])
        self.render_mode = render_mode
        self.start, self.goal = (_find(self.plan, mark) for mark in (START, GOAL))
        self.position = self.start
        size = np.array((len(self.plan[0]) - 2, len(self.plan) - 2), np.float32)
        self.observation_space = spaces.Box(np.ones(2, np.float32), size)
        self.action_space = spaces.Discrete(len(MOVES))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Floats, dict[str, Any]]:
        """Return to the start; the seed and the options change nothing."""
        super().reset(seed=seed)
        self.position = self.start
        return self._observe(), {}

    def step(self, action: int | np.int64) -> tuple[Floats, float, bool, bool, dict[str, Any]]:
        """Move one cell, or stay if there is a wall."""
        if not 0 <= action < len(MOVES):
            raise InvalidInputError(f"action must be from 0 to {len(MOVES) - 1} (N E S W), got {action}")
        (x, y), (right, down) = self.position, MOVES[action]
        if self.plan[y + down][x + right] != WALL:
            self.position = (x + right, y + down)
        reached = self.position == self.goal
        return self._observe(), float(reached), reached, False, {}

    def get_action_meanings(self) -> list[str]:
        """The names of the actions, as Gymnasium's Atari games tell them."""
        return ["north", "east", "south", "west"]

    def render(self) -> Any:
        """An image [height, width, 3] or text, depending on the render mode; None without one."""
        x, y = self.position
        if self.render_mode == "ansi":
            rows = list(self.plan)
            rows[y] = rows[y][:x] + AGENT + rows[y][x + 1 :]
            return "\n".join(rows)
        if self.render_mode == "rgb_array":
            picture = self._background.copy()
            cell = _cell(picture, x, y)
            cell[:] = np.rint(DISC * AGENT_COLOUR + (1 - DISC) * cell)
            return picture
        return None

    def _observe(self) -> Floats:
        return np.array(self.position, np.float32)

    @cached_property
    def _background(self) -> Image:
        picture = np.empty((len(self.plan) * CELL, len(self.plan[0]) * CELL, 3), np.uint8)
        for y, row in enumerate(self.plan):
            for x, mark in enumerate(row):
                cell = _cell(picture, x, y)
                cell[:] = WALL_COLOUR if mark == WALL else LINE_COLOUR
                if mark != WALL:
                    cell[1:, 1:] = GOAL_COLOUR if mark == GOAL else FLOOR_COLOUR
        return picture


def register_rooms() -> None:
    """Register both rooms with Gymnasium; calling it again does nothing."""
    for name, plan in PLANS.items():
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="engram.envs.rooms:Room",
                max_episode_steps=MAX_EPISODE_STEPS,
                kwargs={"plan": plan},
            )


def _checked_plan(plan: str) -> tuple[str, ...]:
    """The rows of a plan; InvalidInputError if it is no closed room with one start and one goal."""
    rows = tuple(plan.strip().splitlines())
    if not rows or len({len(row) for row in rows}) != 1:
        raise InvalidInputError(f"plan must have rows of one length, got {[len(row) for row in rows]}")
    text = "".join(rows)
    if set(text) - {WALL, FLOOR, START, GOAL} or text.count(START) != 1 or text.count(GOAL) != 1:
        raise InvalidInputError(f"plan must consist of # and . with one S and one G, got\n{plan}")
    border = rows[0] + rows[-1] + "".join(row[0] + row[-1] for row in rows)
    if set(border) != {WALL}:
        raise InvalidInputError(f"plan must have walls (#) all round, got\n{plan}")
    return rows


def _find(rows: tuple[str, ...], mark: str) -> tuple[int, int]:
    return next((row.index(mark), y) for y, row in enumerate(rows) if mark in row)


def _cell(picture: Image, x: int, y: int) -> Image:
    return picture[y * CELL : (y + 1) * CELL, x * CELL : (x + 1) * CELL]
