"""The legend of a figure as data, so that a page can show it as text, which wraps on a phone and can be pressed."""

import re

from engram.pictures.canvas import Figure, svg_of
from engram.pictures.marks import Key

NAME = "legend-key-"


def take_legend(figure: Figure) -> list[Key]:
    """The keys of the legend beside the panels, which is removed from the figure; a figure without one has none."""
    names: list[str] = []
    for legend in figure.legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if handle is not None:
                handle.set_gid(f"{NAME}{len(names)}")
            names.append(text.get_text())
    if not names:
        return []
    svg = svg_of(figure).decode()
    for legend in list(figure.legends):
        legend.remove()
    return [_key(svg, number, name) for number, name in enumerate(names)]


def _key(svg: str, number: int, name: str) -> Key:
    """A key as the SVG draws it: the colour and the dashes of its line, or the colour of its patch."""
    drawn = re.search(rf'<g id="{NAME}{number}">\s*<path [^>]*style="([^"]*)"', svg)
    style = {} if drawn is None else dict(re.findall(r"([a-z-]+): ([^;]+)", drawn[1]))
    colours = [style[part] for part in ("stroke", "fill") if style.get(part, "none") != "none"]
    return Key(name, colours[0] if colours else "currentColor", style.get("stroke-dasharray", ""))
