"""What all figures share: matplotlib, a style, and how they are written to files."""

from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

from engram.errors import MissingExtraError
from engram.files.disk import write_atomically
from engram.pictures.colours import INK
from engram.pictures.marks import without_marks

try:
    import matplotlib as mpl
    import matplotlib.colors
    import matplotlib.lines
    import matplotlib.patches
    import matplotlib.patheffects
    import matplotlib.ticker
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox
except ModuleNotFoundError as error:
    raise MissingExtraError('figures need matplotlib: pip install "engram-rl[report]"') from error

__all__ = ["PAGE_WIDTH", "STYLE", "Axes", "Bbox", "Figure", "Saved", "fix_layout", "mpl", "png_of", "save", "svg_of"]

PAGE_WIDTH = 9.0  # inches
PLACE_DIGITS = 5  # of where axes lie, in shares of the figure
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "engram",  # the same numbers give the same file
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Saved(NamedTuple):
    """The files of a figure."""

    svg: Path
    png: Path


def save(figure: Figure, stem: Path) -> Saved:
    """Write the figure as SVG, transparent, and as PNG, on white; the same figure gives the same bytes."""
    fix_layout(figure)
    saved = Saved(stem.with_suffix(".svg"), stem.with_suffix(".png"))
    write_atomically(saved.svg, without_marks(svg_of(figure).decode()).encode())
    write_atomically(saved.png, png_of(figure))
    return saved


def fix_layout(figure: Figure) -> None:
    """Lay the figure out once and for all.

    Where the layout puts axes differs in the last bits from one process to the next, so their places are rounded.
    """
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        bounds = axes.get_position(original=True).bounds
        axes.set_position(tuple(round(each, PLACE_DIGITS) for each in bounds))


def svg_of(figure: Figure, within: Bbox | None = None) -> bytes:
    """The figure, or a part of it in inches, as SVG, transparent, with the marks of its parts."""
    with mpl.rc_context(STYLE):
        buffer = BytesIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None}, bbox_inches=within)
        return buffer.getvalue()


def png_of(figure: Figure, *, dpi: int = 200) -> bytes:
    """The figure as PNG, on white."""
    with mpl.rc_context(STYLE):
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi=dpi)
        return buffer.getvalue()
