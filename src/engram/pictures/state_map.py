"""Where a state lies among the entries of a table: a map beside a film, on which its neighbours are lit."""

from math import ceil, floor, log10
from typing import NamedTuple

import numpy as np

from engram.agents import Agent
from engram.envs.rooms import GOAL, START
from engram.envs.rooms import WALL as WALL_MARK
from engram.hashing import state_of
from engram.pictures.colours import INK, LETTER, LINE, LIT, SOFT, WALL, shade
from engram.pictures.neighbours import Near
from engram.pictures.pen import Pen
from engram.pictures.plane import choose_plane, keys_of, spread_out
from engram.pictures.scene import Scene
from engram.runs.snapshots import Entries, snapshot_of
from engram.typing import Array, Doubles

DOTS = 1_000  # entries, at most
ASIDE, BELOW, HEAD, BAR = 48, 34, 26, 58  # pixels: left of the map, below and above it, and right for its colours
LEAST = 190  # pixels that it is high with all that belongs to it


class Frame(NamedTuple):
    """A part of a picture, in pixels."""

    left: float
    top: float
    right: float
    bottom: float


class StateMap:
    """A map of each table, in a frame of a picture."""

    def __init__(self, agent: Agent, scene: Scene, frame: Frame) -> None:
        self._agent, self._plan, self._actions = agent, scene.plan, scene.actions
        self._snapshot = snapshot_of(agent.memory)  # type: ignore[attr-defined]
        self._plane = choose_plane(agent, scene, self._snapshot)
        self._places = [self._plane.place(table) for table in self._snapshot.tables]
        values = self._snapshot.values
        self._values = float(values.min()), float(values.max())
        self._frame = frame
        if self._plan is not None:
            self._low, self._high = np.array([-0.5, -0.5]), np.array([len(self._plan[0]), len(self._plan)]) - 0.5
            self._ground = _room_in(frame, len(self._plan[0]), len(self._plan))
        else:
            low, high = np.percentile(np.concatenate(self._places), [1, 99], axis=0)
            beyond = np.maximum(0.08 * (high - low), 1e-6)
            self._low, self._high = low - beyond, high + beyond  # what lies farther out is drawn at the edge
            self._ground = Frame(frame.left + ASIDE, frame.top + HEAD, frame.right - BAR, frame.bottom - BELOW)

    def draw(self, pen: Pen, observation: Array, action: int, near: Near) -> None:
        """The table of an action, the state, and lines from it to its neighbours."""
        middle = (self._ground.left + self._ground.right) / 2
        pen.text(middle, self._frame.top + 10, f"memory of “{self._actions[action]}”", bold=True, middle=True)
        self._draw_axes(pen) if self._plan is None else self._draw_room(pen, self._plan)
        self._draw_colours(pen)
        table, places = self._snapshot.tables[action], self._on_ground(self._places[action])
        for slot in spread_out(len(places), DOTS).tolist():
            pen.dot(places[slot, 0], places[slot, 1], 2.6, self._colour(float(table.values[slot])))
        here = self._on_ground(self._plane.place(self._entry(observation)))[0]
        for slot, weight in zip(near.slots.tolist(), near.weights.tolist(), strict=True):
            pen.line(tuple(here), tuple(places[slot]), LIT, width=0.8)
            pen.ring(places[slot, 0], places[slot, 1], 4 + 3 * weight, LIT)
        pen.cross(here[0], here[1], INK)

    def _entry(self, observation: Array) -> Entries:
        """An observation as if it were an entry."""
        key = keys_of(self._agent, np.asarray(observation)[None])
        value = self._agent.q_values(np.asarray(observation)[None]).max(axis=1)
        return Entries(key, value, np.array([state_of(np.asarray(observation))], np.uint64))

    def _colour(self, value: float) -> tuple[int, int, int]:
        low, high = self._values
        return shade((value - low) / (high - low) if high > low else 0.5)

    def _on_ground(self, places: Doubles) -> Doubles:
        """Places in pixels; a room's rows count from the top, other axes from the bottom."""
        left, top, right, bottom = self._ground
        share = np.clip((places - self._low) / (self._high - self._low), 0, 1)
        down = share[:, 1] if self._plan is not None else 1 - share[:, 1]
        return np.stack([left + share[:, 0] * (right - left), top + down * (bottom - top)], axis=1)

    def _draw_axes(self, pen: Pen) -> None:
        """Lines at round numbers, with the numbers, and the names of the axes."""
        left, top, right, bottom = self._ground
        for number in round_numbers(float(self._low[0]), float(self._high[0])):
            x = float(self._on_ground(np.array([[number, self._low[1]]]))[0, 0])
            pen.line((x, top), (x, bottom), LINE, width=0.5)
            pen.text(x, bottom + 9, f"{number:g}".replace("-", "−"), SOFT, size=10, middle=True)
        for number in round_numbers(float(self._low[1]), float(self._high[1])):
            y = float(self._on_ground(np.array([[self._low[0], number]]))[0, 1])
            pen.line((left, y), (right, y), LINE, width=0.5)
            pen.text(left - 5, y, f"{number:g}".replace("-", "−"), SOFT, size=10, right=True)
        pen.line((left, top), (left, bottom), SOFT)
        pen.line((left, bottom), (right, bottom), SOFT)
        pen.text((left + right) / 2, bottom + 25, self._plane.labels[0], SOFT, size=10, middle=True)
        pen.upright(self._frame.left + 6, (top + bottom) / 2, self._plane.labels[1], SOFT)

    def _draw_room(self, pen: Pen, plan: tuple[str, ...]) -> None:
        """Walls, and the letters of start and goal."""
        side = (self._ground.right - self._ground.left) / len(plan[0])
        for y, row in enumerate(plan):
            for x, mark in enumerate(row):
                corner = (self._ground.left + x * side, self._ground.top + y * side)
                if mark == WALL_MARK:
                    pen.box(corner, (corner[0] + side, corner[1] + side), WALL)
                if mark == GOAL:
                    pen.text(corner[0] + side / 2, corner[1] + side / 2, mark, LETTER, size=10, middle=True, bold=True)
                if mark == START:
                    pen.text(corner[0] + 1, corner[1] + 4, mark, LETTER, size=8, bold=True)
        pen.text(
            (self._ground.left + self._ground.right) / 2, self._ground.bottom + 12, "S start, G goal", SOFT, size=10,
            middle=True,
        )  # fmt: skip

    def _draw_colours(self, pen: Pen) -> None:
        """A bar of the colours of values."""
        left, top, bottom = self._ground.right + 10, self._ground.top + 12, self._ground.bottom
        (low, high), steps = self._values, 40
        for place in range(steps):
            upper, lower = (bottom - (bottom - top) * (place + more) / steps for more in (1, 0))
            pen.box((left, upper), (left + 9, lower), shade((place + 0.5) / steps))
        pen.text(left, self._ground.top + 2, "value", SOFT, size=10)
        numbers = [low, (low + high) / 2, high] if high > low else [low]
        for number in numbers:
            y = bottom - (bottom - top) * ((number - low) / (high - low) if high > low else 0.5)
            height = min(max(y, top + 5), bottom - 5)
            pen.text(left + 13, height, f"{number:.3g}".replace("-", "−"), SOFT, size=10)


def _room_in(frame: Frame, columns: int, rows: int) -> Frame:
    """A room of its own shape in the middle of a frame, with room for what stands above, below and beside it."""
    width, height = frame.right - frame.left - BAR, frame.bottom - frame.top - HEAD - BELOW / 2
    side = min(width / columns, height / rows)
    left = frame.left + (width - side * columns) / 2
    return Frame(left, frame.top + HEAD, left + side * columns, frame.top + HEAD + side * rows)


def round_numbers(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers between two others, at equal distances of 1, 2 or 5 times a power of ten."""
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough)
    digits = max(0, -floor(log10(step)))
    return [round(number * step, digits) for number in range(ceil(low / step), floor(high / step) + 1)]
