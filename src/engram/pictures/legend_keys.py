"""The legend of a figure as data, so that a page can show it as text, which wraps on a phone and can be pressed."""

import re
from typing import Any

from engram.pictures.canvas import Figure, mpl, svg_of
from engram.pictures.marks import Key

NAME = "legend-key-"
SHAPES = ("o", "s", "D")  # that a page can draw


def take_legend(figure: Figure) -> list[Key]:
    """The keys of the legend beside the panels, which is removed from the figure; a figure without one has none."""
    handles: list[tuple[str, Any]] = []
    for legend in figure.legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            if handle is not None:
                handle.set_gid(f"{NAME}{len(handles)}")
            handles.append((text.get_text(), handle))
    if not handles:
        return []
    svg = svg_of(figure).decode()
    for legend in list(figure.legends):
        legend.remove()
    return [_key(name, handle, svg, number) for number, (name, handle) in enumerate(handles)]


def _key(name: str, handle: Any, svg: str, number: int) -> Key:
    """A key as the figure draws it: dots, an area, or a line with the colour and the dashes that the SVG gives it."""
    if isinstance(handle, mpl.lines.Line2D) and handle.get_linestyle() == "None":
        marker: Any = handle.get_marker()
        hollow = handle.get_markerfacecolor() == "none"
        part = handle.get_markeredgecolor() if hollow else handle.get_markerfacecolor()
        return Key(
            name, mpl.colors.to_hex(part), kind="dots", marker=marker if marker in SHAPES else "o", hollow=hollow
        )
    if isinstance(handle, mpl.patches.Patch):
        colour = mpl.colors.to_rgba(handle.get_facecolor())
        return Key(name, mpl.colors.to_hex(colour), kind="area", opacity=colour[3])
    drawn = re.search(rf'<g id="{NAME}{number}">\s*<path [^>]*style="([^"]*)"', svg)
    style = {} if drawn is None else dict(re.findall(r"([a-z-]+): ([^;]+)", drawn[1]))
    colours = [style[part] for part in ("stroke", "fill") if style.get(part, "none") != "none"]
    return Key(name, colours[0] if colours else "currentColor", style.get("stroke-dasharray", ""))
