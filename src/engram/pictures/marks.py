"""What a page can do with the parts of a figure: switch a series on and off, and read its points.

A mark travels in the name that matplotlib writes around an artist in an SVG. Files of figures are written without it;
`lab/pages/inline_svg.py` turns it into attributes, which `lab/pages/page.js` reads.
"""

import json
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol
from urllib.parse import quote, unquote

PREFIX = "mark:"
GROUP = re.compile(r'<g id="([^"]*)">')


class Markable(Protocol):
    """An artist of matplotlib."""

    def set_gid(self, gid: str | None) -> None:
        """Give it a name, which an SVG shows."""


class Mark(NamedTuple):
    """What an artist shows."""

    series: str  # by its name in the legend, or an agent whose panel it is
    readings: tuple[str, ...]  # one for each of its points, in their order
    extra: bool  # not shown until a reader asks for it, where scripts run


class Key(NamedTuple):
    """A series of a legend and how it is drawn."""

    name: str
    colour: str  # "#rrggbb"
    dashes: str = ""  # as in SVG; empty for a solid line
    kind: Literal["line", "dots", "area"] = "line"
    opacity: float = 1.0  # of an area
    marker: Literal["o", "s", "D"] = "o"  # of dots: circles, squares or diamonds
    hollow: bool = False  # of dots


def mark(artist: Markable, series: str, readings: Sequence[str] = (), *, extra: bool = False) -> None:
    """Say to which series an artist belongs, and what is read at each of its points: `206 [180, 232], n = 5`.

    A line, an interval, a band or a whole panel can have a mark; only lines and dots have points.
    """
    artist.set_gid(PREFIX + quote(json.dumps([series, list(readings), extra])))


def read_mark(name: str) -> Mark | None:
    """The mark in the name of a group of an SVG; None for any other name."""
    if not name.startswith(PREFIX):
        return None
    series, readings, extra = json.loads(unquote(name.removeprefix(PREFIX)))
    return Mark(series, tuple(readings), extra)


def without_marks(svg: str) -> str:
    """An SVG as it would be if nothing in it had been marked."""
    return GROUP.sub(lambda found: found[0] if read_mark(found[1]) is None else "<g>", svg)
