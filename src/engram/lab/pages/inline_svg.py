"""A figure as part of a page: in the page's text colour, described, light, and with its marks as attributes."""

import re
from html import escape

from engram.pictures.colours import INK, SOFT
from engram.pictures.marks import GROUP, read_mark

SEPARATOR = "|"  # between the readings of a series
DIGITS = 2  # of coordinates, in points
SOFT_TEXT = re.compile(rf"(<text [^>]*fill: ){SOFT.lower()}")
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?![\d%])")


def inlined(svg: str, description: str) -> str:
    """An SVG without what only a file needs; screen readers are told the description in its place."""
    drawing = svg[svg.index("<svg") :].replace(INK.lower(), "currentColor").replace(INK, "currentColor")
    drawing = re.sub(r"\s*<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    drawing = SOFT_TEXT.sub(r"\1var(--soft)", drawing)  # of the page, which can be read in light and in dark
    drawing = GROUP.sub(lambda found: _group(found[1]), drawing)
    drawing = re.sub(r' d="([^"]*)"', lambda path: f' d="{_light(path[1])}"', drawing)
    width = re.match(r'<svg[^>]* width="([0-9.]+pt)"', drawing)
    size = f' style="--width: {width[1]}"' if width else ""
    return drawing.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"{size}', 1)


def _group(name: str) -> str:
    """The beginning of a group: of marked ones, with a title that browsers show without scripts; names are dropped."""
    mark = read_mark(name)
    if mark is None:
        return "<g>"
    texts = [text.replace(SEPARATOR, "/") for text in mark.readings]
    readings = f' data-readings="{escape(SEPARATOR.join(texts))}"' if texts else ""
    last = f": {texts[-1]}" if texts else ""
    extra = ' data-extra=""' if mark.extra else ""
    return f'<g data-series="{escape(mark.series)}"{readings}{extra}><title>{escape(mark.series + last)}</title>'


def _light(outline: str) -> str:
    """The outline of a path on one line, with as many digits as can be seen."""
    rounded = LONG_NUMBER.sub(lambda number: f"{float(number[0]):.{DIGITS}f}".rstrip("0").rstrip("."), outline)
    return " ".join(rounded.split())
