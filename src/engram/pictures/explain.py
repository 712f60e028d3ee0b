"""Why an agent acts as it does, beside a film: Q of every action, the values behind it, and where its memories lie."""

import numpy as np

from engram.agents import Agent
from engram.pictures.colours import ACTIONS, INK, LINE, LIT, SOFT
from engram.pictures.neighbours import Near, neighbours
from engram.pictures.pen import Pen, width_of
from engram.pictures.scene import scene_of
from engram.pictures.state_map import LEAST, Frame, StateMap
from engram.typing import Array

PANEL = 400  # pixels that the panel beside a picture is wide
STRIP = 70  # pixels of words below the picture, at least
MARGIN, HEAD, FOOT = 16, 30, 26  # pixels: around the panel, above and below its rows
ROW, LOWEST_ROW, MANY = 26, 18, 8  # pixels of an action's row; of those of more than MANY actions
NUMBERS = 64  # pixels for the numbers at the right
NARROWEST = 320  # pixels, of the column of the picture


class Scale:
    """Maps values to pixels; the range grows with the values met, so that pictures stay comparable."""

    def __init__(self, left: float, right: float) -> None:
        self.left, self.right = left, right
        self.low, self.high = np.inf, -np.inf

    def __call__(self, value: float) -> float:
        """The horizontal position of a value, in pixels."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.left + share * (self.right - self.left)

    def widen(self, values: Array) -> None:
        """Extend the range to these values."""
        if len(values):
            self.low, self.high = min(self.low, float(values.min())), max(self.high, float(values.max()))


class Explanation:
    """The frames of a film whose pictures have this height and width: each with what the agent makes of it."""

    def __init__(self, agent: Agent, height: int, width: int) -> None:
        self._agent, self._scene = agent, scene_of(agent)
        count, remembers = len(self._scene.actions), agent.has_memory and bool(agent.memory.size.all())  # type: ignore[attr-defined]
        self._row = ROW if count <= MANY else LOWEST_ROW
        if not remembers:  # there is no map below the rows, which have all the height
            self._row = max(self._row, (height + STRIP - HEAD - FOOT) // count)
        self._rows = HEAD + count * self._row + FOOT
        self._left = max(width, NARROWEST)  # where the panel begins
        self._width = self._left + PANEL
        self._height = max(height + STRIP, self._rows + (LEAST if remembers else 0))
        names = max(width_of(f"▶ {name}", bold=True) for name in self._scene.actions)
        self._scale = Scale(self._left + MARGIN + names + 12, self._width - MARGIN - NUMBERS)
        frame = Frame(self._left + MARGIN, self._rows, self._width - MARGIN, self._height - 6)
        self._map = StateMap(agent, self._scene, frame) if remembers else None

    def frame(self, picture: Array, observation: Array, action: int, total: float, step: int) -> Array:
        """The picture of one step, what is to be said of it below, and beside it why the agent acts so."""
        pen = Pen(self._width, self._height)
        number = action - self._agent.source.first_action
        near = neighbours(self._agent, observation)
        q = self._agent.q_values(np.asarray(observation)[None])[0]
        for values in (q, *(each.values for each in near)):
            self._scale.widen(values)
        for row, (value, text) in enumerate(zip(q.tolist(), aligned(q), strict=True)):
            self._draw_row(pen, row, value, text, near[row] if near else None, chosen=row == number)
        self._draw_scale(pen)
        self._draw_words(pen, len(picture), total, step, has_memory=bool(near))
        if self._map is not None:
            self._map.draw(pen, observation, number, near[number])
        whole = pen.pixels()
        start = (self._left - picture.shape[1]) // 2
        whole[: len(picture), start : start + picture.shape[1]] = picture
        return whole

    def _draw_row(self, pen: Pen, row: int, value: float, text: str, near: Near | None, *, chosen: bool) -> None:
        axis, colour = HEAD + (row + 0.5) * self._row, LIT if chosen else INK
        pen.text(self._left + MARGIN, axis, ("▶ " if chosen else "") + self._scene.actions[row], colour, bold=chosen)
        pen.text(self._width - MARGIN, axis, text, colour, right=True, bold=chosen)
        pen.line((self._scale.left, axis), (self._scale.right, axis), LINE)
        for each, weight in zip(near.values, near.weights, strict=True) if near is not None else ():
            pen.dot(self._scale(float(each)), axis, 1.8 + 4 * float(weight), ACTIONS[0])
        x = self._scale(value)
        pen.box((x - 1.5, axis - 7), (x + 1.5, axis + 7), colour)

    def _draw_scale(self, pen: Pen) -> None:
        """The head of the rows, and below them the numbers of their scale."""
        pen.text(self._left + MARGIN, 16, "action", SOFT, size=10)
        pen.text((self._scale.left + self._scale.right) / 2, 16, "values", SOFT, size=10, middle=True)
        pen.text(self._width - MARGIN, 16, "Q", SOFT, size=10, right=True)
        low, high = self._scale.low, self._scale.high
        top = self._rows - FOOT + 8
        for number in (low, (low + high) / 2, high) if high > low else (low,):
            pen.text(self._scale(number), top, f"{number:.3g}".replace("-", "−"), SOFT, size=10, middle=True)

    def _draw_words(self, pen: Pen, top: int, total: float, step: int, *, has_memory: bool) -> None:
        """Below the picture: how far the game is, and what is to be seen beside it."""
        pen.text(12, top + 15, f"step {step:,}", bold=True)
        pen.text(self._left - 12, top + 15, f"return so far {total:g}".replace("-", "−"), right=True)
        pen.box((14, top + 30), (17, top + 42), INK)
        pen.text(24, top + 36, "Q of an action", SOFT, size=10)
        if not has_memory:
            return
        pen.dot(118, top + 36, 4, ACTIONS[0])
        pen.text(128, top + 36, "a near entry; larger: more weight", SOFT, size=10)
        if self._map is not None:
            pen.cross(16, top + 56, INK)
            pen.text(26, top + 56, "this state", SOFT, size=10)
            pen.ring(118, top + 56, 4.5, LIT)
            pen.text(128, top + 56, "the entries near it, on the map", SOFT, size=10)


def aligned(values: Array) -> list[str]:
    """Numbers of one column, all with as many decimals as the largest needs for four digits."""
    largest = float(np.abs(values).max()) if len(values) else 0.0
    decimals = min(max(3 - int(np.floor(np.log10(largest))), 0), 6) if largest > 0 else 0
    return [f"{value:.{decimals}f}".replace("-", "−") for value in np.asarray(values, np.float64).tolist()]
