"""Why an agent acts as it does: Q of every action, the values behind it, and where its nearest memories lie."""

from typing import Any, NamedTuple

import numpy as np

from engram.agents import Agent
from engram.hashing import state_of
from engram.pictures.colours import ACTIONS, INK, LINE, LIT, SOFT, WALL, shade
from engram.pictures.pen import PANEL, Pen
from engram.pictures.plane import choose_plane, keys_of, spread_out
from engram.pictures.scene import Scene, scene_of
from engram.runs.snapshots import Entries, snapshot_of
from engram.typing import Array, Doubles, Floats, Longs

MARGIN, ROW, HEAD, FOOT = 16, 38, 34, 54  # pixels: around it, of an action, above and below the actions
MAP = 230  # pixels that the map is high
DOTS = 1_000  # entries, at most, on the map


class Near(NamedTuple):
    """The entries of one table that are nearest to a state."""

    slots: Longs
    values: Floats
    weights: Floats  # of a read; their sum is 1


def neighbours(agent: Agent, observation: Array) -> list[Near]:
    """For each action the entries that Q is made of; nothing for an agent without a memory."""
    if not agent.has_memory:
        return []
    memory: Any = agent.memory  # type: ignore[attr-defined]
    key, found = keys_of(agent, np.asarray(observation)[None]), []
    for action in range(memory.actions):
        slots, distances = memory.find_neighbours(action, key)
        values = memory.entries(action, keys=False)["values"][slots[0]]
        weights = 1 / (distances[0] + memory.delta) if memory.kernel == "inverse" else np.ones_like(distances[0])
        if memory.exact_read and len(weights) and distances[0][0] == 0:
            weights = (np.arange(len(weights)) == 0).astype(np.float32)  # the value stored for this very state
        found.append(Near(slots[0], values, weights / weights.sum() if len(weights) else weights))
    return found


class Scale:
    """Maps values to pixels; the range grows with the values met, so that pictures stay comparable."""

    def __init__(self) -> None:
        self.low, self.high = np.inf, -np.inf

    def __call__(self, value: float) -> float:
        """The horizontal position of a value, in pixels."""
        return MARGIN + self.share(value) * (PANEL - 2 * MARGIN)

    def share(self, value: float) -> float:
        """Where a value lies between the lowest and the highest."""
        return (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5

    def widen(self, values: Array) -> None:
        """Extend the range to these values."""
        if len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))


class Panel:
    """The explanation beside a film, drawn anew for each step."""

    def __init__(self, agent: Agent) -> None:
        self._agent, self._scene, self._scale = agent, scene_of(agent), Scale()
        self._map = MemoryMap(agent, self._scene) if agent.has_memory and agent.memory.size.all() else None  # type: ignore[attr-defined]
        rows = HEAD + ROW * len(self._scene.actions) + FOOT
        self.height = rows + (MAP + MARGIN if self._map is not None else 0)
        self._rows = rows

    def draw(self, observation: Array, action: int, total: float, step: int) -> Array:
        """The panel at one step, [height, PANEL, 3]."""
        pen = Pen(self.height)
        number = action - self._agent.source.first_action
        near = neighbours(self._agent, observation)
        q = self._agent.q_values(np.asarray(observation)[None])[0]
        for values in (q, *(each.values for each in near)):
            self._scale.widen(values)
        pen.text(MARGIN, 18, f"step {step:,}", bold=True)
        pen.text(PANEL - MARGIN, 18, f"return so far {total:g}", right=True)
        for row, value in enumerate(q.tolist()):
            self._draw_row(pen, row, value, near[row] if near else None, chosen=row == number)
        self._draw_legend(pen, has_memory=bool(near))
        if self._map is not None:
            self._map.draw(pen, self._rows, observation, number, near[number], self._scene.actions[number])
        return pen.pixels()

    def _draw_row(self, pen: Pen, row: int, value: float, near: Near | None, *, chosen: bool) -> None:
        top = HEAD + ROW * row
        colour, axis = LIT if chosen else INK, top + 26
        pen.text(MARGIN, top + 9, ("▶ " if chosen else "") + self._scene.actions[row], colour, bold=chosen)
        pen.text(PANEL - MARGIN, top + 9, f"Q = {value:.4g}", colour, right=True, bold=chosen)
        pen.line((MARGIN, axis), (PANEL - MARGIN, axis), LINE)
        for each, weight in zip(near.values, near.weights, strict=True) if near is not None else ():
            pen.dot(self._scale(float(each)), axis, 1.8 + 4 * float(weight), ACTIONS[0])
        x = self._scale(value)
        pen.box((x - 1.5, axis - 8), (x + 1.5, axis + 8), colour)

    def _draw_legend(self, pen: Pen, *, has_memory: bool) -> None:
        top = HEAD + ROW * len(self._scene.actions)
        low, high = self._scale.low, self._scale.high
        pen.text(MARGIN, top + 6, f"{low:.4g}", SOFT, size=10)
        pen.text(PANEL / 2, top + 6, f"{(low + high) / 2:.4g}", SOFT, size=10, middle=True)
        pen.text(PANEL - MARGIN, top + 6, f"{high:.4g}", SOFT, size=10, right=True)
        pen.box((MARGIN, top + 20), (MARGIN + 3, top + 34), INK)
        pen.text(MARGIN + 10, top + 27, "Q of an action", SOFT, size=11)
        if has_memory:
            pen.dot(MARGIN + 116, top + 27, 4, ACTIONS[0])
            pen.text(MARGIN + 126, top + 27, "an entry nearby; larger: more weight", SOFT, size=11)


class MemoryMap:
    """A map of each table, on which the neighbours of a state are lit."""

    def __init__(self, agent: Agent, scene: Scene) -> None:
        self._agent, self._plan = agent, scene.plan
        self._snapshot = snapshot_of(agent.memory)  # type: ignore[attr-defined]
        self._plane = choose_plane(agent, scene, self._snapshot)
        self._places = [self._plane.place(table) for table in self._snapshot.tables]
        everywhere = np.concatenate(self._places)
        if self._plan is not None:
            self._low, self._high = np.array([-0.5, -0.5]), np.array([len(self._plan[0]), len(self._plan)]) - 0.5
        else:
            low, high = np.percentile(everywhere, [1, 99], axis=0)  # what lies farther out is drawn at the edge
            self._low, self._high = low - 0.08 * (high - low) - 1e-6, high + 0.08 * (high - low) + 1e-6
        values = self._snapshot.values
        self._lowest, self._range = float(values.min()), float(np.ptp(values)) or 1.0

    def draw(self, pen: Pen, top: int, observation: Array, action: int, near: Near, name: str) -> None:
        """The table of an action, the state, and lines from it to its neighbours."""
        self._set_frame(top + 22)
        pen.text(MARGIN, top + 8, f"memory of “{name}”", INK, size=11)
        pen.text(PANEL - MARGIN, top + 8, "orange: neighbours of ×", LIT, size=11, right=True)
        self._draw_ground(pen)
        table, places = self._snapshot.tables[action], self._on_panel(self._places[action])
        for slot in spread_out(len(places), DOTS).tolist():
            pen.dot(
                places[slot, 0], places[slot, 1], 2.6, shade((float(table.values[slot]) - self._lowest) / self._range)
            )
        here = self._on_panel(self._plane.place(self._entry(observation)))[0]
        for slot, weight in zip(near.slots.tolist(), near.weights.tolist(), strict=True):
            pen.line(tuple(here), tuple(places[slot]), LIT, width=0.8)
            pen.ring(places[slot, 0], places[slot, 1], 4 + 3 * weight, LIT)
        for sign in (-1, 1):
            pen.line((here[0] - 6, here[1] - 6 * sign), (here[0] + 6, here[1] + 6 * sign), INK, width=2.2)

    def _entry(self, observation: Array) -> Entries:
        """An observation as if it were an entry."""
        key = keys_of(self._agent, np.asarray(observation)[None])
        value = self._agent.q_values(np.asarray(observation)[None]).max(axis=1)
        return Entries(key, value, np.array([state_of(np.asarray(observation))], np.uint64))

    def _set_frame(self, top: int) -> None:
        """Where the map lies on the panel; a room keeps its shape."""
        self._left, self._top, self._width, self._height = 2.0 * MARGIN, float(top), PANEL - 3.0 * MARGIN, MAP - 42.0
        if self._plan is not None:
            side = min(self._width / len(self._plan[0]), self._height / len(self._plan))
            self._left += (self._width - side * len(self._plan[0])) / 2
            self._width, self._height = side * len(self._plan[0]), side * len(self._plan)

    def _on_panel(self, places: Doubles) -> Doubles:
        """Places in pixels; a room's rows count from the top, other axes from the bottom."""
        share = np.clip((places - self._low) / (self._high - self._low), 0, 1)
        up = share[:, 1] if self._plan is not None else 1 - share[:, 1]
        return np.stack([self._left + share[:, 0] * self._width, self._top + up * self._height], axis=1)

    def _draw_ground(self, pen: Pen) -> None:
        right, bottom = self._left + self._width, self._top + self._height
        if self._plan is None:
            pen.line((self._left, self._top), (self._left, bottom), LINE)
            pen.line((self._left, bottom), (right, bottom), LINE)
            pen.text(self._left + self._width / 2, bottom + 11, self._plane.labels[0], SOFT, size=10, middle=True)
            pen.upright(10, self._top + self._height / 2, self._plane.labels[1], SOFT)
            return
        side = self._width / len(self._plan[0])
        for y, row in enumerate(self._plan):
            for x, mark in enumerate(row):
                corner = (self._left + x * side, self._top + y * side)
                if mark == "#":
                    pen.box(corner, (corner[0] + side, corner[1] + side), WALL)
