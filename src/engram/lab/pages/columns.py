"""The columns of a figure as drawings of their own, which stand below one another where the screen is narrow."""

from itertools import pairwise

from engram.pictures.canvas import Axes, Bbox, Figure, fix_layout, svg_of


def columns_of(figure: Figure, across: int) -> list[str]:
    """The columns of a grid of panels as SVGs, side by side as wide as the figure; none for a single column.

    `across` says how many axes of a row make a panel. All that is drawn must belong to one. The figure is left as it
    was, except that its layout is fixed.
    """
    panels: dict[int, list[Axes]] = {}
    for axes in figure.axes:
        place = axes.get_subplotspec()
        if place is not None and axes.get_visible():
            panels.setdefault(place.colspan.start // across, []).append(axes)
    if len(panels) < 2:
        return []
    fix_layout(figure)
    columns = [panels[number] for number in sorted(panels)]
    boxes = [Bbox.union([box for each in column if (box := each.get_tightbbox()) is not None]) for column in columns]
    width, height = figure.get_size_inches()
    between = [(left.x1 + right.x0) / 2 / figure.dpi for left, right in pairwise(boxes)]
    drawn = []
    for column, ends in zip(columns, pairwise([0.0, *between, float(width)]), strict=True):
        others = [axes for each in columns if each is not column for axes in each]
        for axes in others:
            axes.set_visible(False)
        drawn.append(svg_of(figure, within=Bbox([[ends[0], 0], [ends[1], height]])).decode())
        for axes in others:
            axes.set_visible(True)
    return drawn
