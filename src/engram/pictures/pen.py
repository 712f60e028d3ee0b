"""A pen for what stands beside a film: text, lines, boxes, dots and rings with smooth edges."""

from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from engram.errors import MissingExtraError
from engram.pictures.colours import INK
from engram.typing import Array

try:
    from PIL import Image, ImageDraw, ImageFont
except ModuleNotFoundError as error:
    raise MissingExtraError('videos need Pillow and imageio-ffmpeg: pip install "engram-rl[video]"') from error

FINER = 3  # times finer it is drawn at first, so that its edges are smooth
PAPER = "#FFFFFF"


class Pen:
    """Draws on a white sheet, finer than it will be."""

    def __init__(self, width: int, height: int) -> None:
        self._image = Image.new("RGB", (width * FINER, height * FINER), PAPER)
        self._draw = ImageDraw.Draw(self._image)

    def text(
        self, x: float, y: float, text: str, colour: str = INK, *, size: int = 12, right: bool = False,
        middle: bool = False, bold: bool = False,
    ) -> None:  # fmt: skip
        """A line of text whose middle is at this height, from the left, from the right or centred."""
        anchor = "rm" if right else "mm" if middle else "lm"
        self._draw.text((x * FINER, y * FINER), text, colour, font_of(size * FINER, bold=bold), anchor)

    def upright(self, x: float, y: float, text: str, colour: str) -> None:
        """Small text that goes upwards, centred here."""
        font = font_of(10 * FINER)
        box = self._draw.textbbox((0, 0), text, font)
        words = Image.new("RGB", (int(box[2]) + 2, int(box[3]) + 4), PAPER)
        ImageDraw.Draw(words).text((0, 0), text, colour, font)
        turned = words.rotate(90, expand=True)
        self._image.paste(turned, (int(x * FINER - turned.width / 2), int(y * FINER - turned.height / 2)))

    def line(self, start: Any, end: Any, colour: str, width: float = 1.0) -> None:
        """A straight line."""
        ends = [tuple(FINER * number for number in point) for point in (start, end)]
        self._draw.line(ends, colour, max(1, round(width * FINER)))

    def cross(self, x: float, y: float, colour: str) -> None:
        """A small ×."""
        for sign in (-1, 1):
            self.line((x - 5, y - 5 * sign), (x + 5, y + 5 * sign), colour, width=2.2)

    def box(self, corner: Any, opposite: Any, colour: Any) -> None:
        """A filled box."""
        self._draw.rectangle([tuple(FINER * number for number in point) for point in (corner, opposite)], colour)

    def dot(self, x: float, y: float, radius: float, colour: Any) -> None:
        """A filled circle."""
        self._draw.ellipse([FINER * each for each in (x - radius, y - radius, x + radius, y + radius)], colour)

    def ring(self, x: float, y: float, radius: float, colour: str) -> None:
        """A circle."""
        box = [FINER * each for each in (x - radius, y - radius, x + radius, y + radius)]
        self._draw.ellipse(box, outline=colour, width=round(1.8 * FINER))

    def pixels(self) -> Array:
        """The sheet, [height, width, 3]."""
        return np.array(self._image.reduce(FINER))


def width_of(text: str, *, size: int = 12, bold: bool = False) -> float:
    """How many pixels a line of text takes."""
    return float(font_of(size * FINER, bold=bold).getlength(text)) / FINER


@lru_cache
def font_of(size: int, *, bold: bool = False) -> Any:
    """DejaVu, which has every letter that we use, from the system or from matplotlib; otherwise Pillow's own."""
    name, found = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf", find_spec("matplotlib")
    own = [] if found is None or found.origin is None else [Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"]
    for path in (name, *(str(folder / name) for folder in own)):
        with suppress(OSError):
            return ImageFont.truetype(path, size)
    return ImageFont.load_default(size)
