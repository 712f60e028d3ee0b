"""A figure as part of a page: in the page's colours, described, light, and with its marks as attributes."""

import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from html import escape

from engram.pictures.colours import INK, SOFT
from engram.pictures.marks import GROUP, read_mark

SEPARATOR = "|"  # between the readings of a series
HOLE = "#"  # in the form of readings, where a number belongs
NUMBER = re.compile(r"[-−]?\d+(?:,\d{3})*(?:\.\d+)?")
STYLE = re.compile(r' style="([^"]*)"')
LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
SOFT_TEXT = re.compile(rf"(<text [^>]*fill: ){SOFT.lower()}")
LINES = re.compile(r"(?:\s*(?:[ML] -?[\d.]+ -?[\d.]+|z)\s*)*")  # a path of straight lines, as matplotlib writes it


def inlined(svg: str) -> str:
    """An SVG without what only a file needs; screen readers are told in other words what it shows."""
    drawing = svg[svg.index("<svg") :].replace(INK.lower(), "currentColor").replace(INK, "currentColor")
    drawing = re.sub(r"\s*<metadata>.*?</metadata>", "", drawing, flags=re.DOTALL)
    drawing = SOFT_TEXT.sub(r"\1var(--soft)", drawing)  # of the page, which can be read in light and in dark
    drawing = re.sub(r' d="([^"]*)"', lambda path: f' d="{_outline(path[1])}"', drawing)
    drawing = re.sub(r"<(?!g id=)[^>]*>", lambda tag: LONG_NUMBER.sub(_rounded, tag[0]), drawing)
    drawing = re.sub(r'<g id="[^"]*"/>', "", drawing)  # axes that are not shown
    drawing = GROUP.sub(lambda found: _group(found[1]), drawing)
    drawing = _with_classes(re.sub(r">\s+<", "><", drawing))
    width = re.match(r'<svg[^>]* width="([0-9.]+pt)"', drawing)
    size = f' style="--width: {width[1]}"' if width else ""
    return drawing.replace("<svg", f'<svg aria-hidden="true"{size}', 1)


def _group(name: str) -> str:
    """The beginning of a group: of marked ones, with a title that browsers show without scripts; names are dropped."""
    mark = read_mark(name)
    if mark is None:
        return "<g>"
    last = f": {mark.readings[-1]}" if mark.readings else ""
    extra = ' data-extra=""' if mark.extra else ""
    marked = f'data-series="{escape(mark.series)}"{_readings(mark.readings)}{extra}'
    return f"<g {marked}><title>{escape(mark.series + last)}</title>"


def _readings(texts: Sequence[str]) -> str:
    """The readings as attributes: where they differ in numbers only, their common form and those numbers."""
    if not texts:
        return ""
    plain = [text.replace(SEPARATOR, "/") for text in texts]
    forms = {NUMBER.sub(HOLE, text) for text in plain}
    if len(forms) > 1 or any(HOLE in text for text in plain):
        return f' data-readings="{escape(SEPARATOR.join(plain))}"'
    columns = list(zip(*(NUMBER.findall(text) for text in plain), strict=True))
    fixed = iter([column[0] if len(set(column)) == 1 else HOLE for column in columns])
    form = re.sub(HOLE, lambda _: next(fixed), forms.pop())
    rows = zip(*(column for column in columns if len(set(column)) > 1), strict=True)
    values = SEPARATOR.join(" ".join(row) for row in rows) or SEPARATOR * (len(plain) - 1)
    return f' data-form="{escape(form)}" data-readings="{values}"'


def _with_classes(drawing: str) -> str:
    """The drawing with a class in place of each style that it repeats; other drawings mean the same by its name."""
    counts = Counter(STYLE.findall(drawing))
    names = {style: f"s{sha256(style.encode()).hexdigest()[:8]}" for style, count in counts.items() if count > 2}
    named = STYLE.sub(lambda found: f' class="{names[found[1]]}"' if found[1] in names else found[0], drawing)
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    return named.replace("</style>", f"{rules}</style>", 1)


def _outline(path: str) -> str:
    """The outline of a path; straight lines as steps from point to point, in tenths of a point, which are short."""
    if not LINES.fullmatch(path) or re.search(r"z\s*L", path):
        return " ".join(path.split())
    found, here, stepping = "", (0.0, 0.0), False
    words = iter(path.split())
    for word in words:
        if word == "z":
            found += "z"
            continue
        point = (round(float(next(words)), 1), round(float(next(words)), 1))
        if word == "M":
            found += f"M{_short(point[0])} {_short(point[1])}"
        else:
            step = " ".join(_short(new - old) for new, old in zip(point, here, strict=True))
            found += f"{' ' if stepping else 'l'}{step}"
        here, stepping = point, word == "L"
    return found.replace(" -", "-")


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0") if abs(number) > 0.05 else "0"


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")
