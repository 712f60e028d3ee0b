"""Lines of a panel that lie on each other: the longest is drawn whole, and the others as stripes upon it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from engram.lab.pages.style import Look
from engram.lab.run_record import Series

STRIPE = 4.0  # line widths: how long a stripe is
WITHIN = 0.012  # of the range of all lines: how near they lie that one hides the other, which is about their width
MOST = 0.8  # of their common length, on which they lie so near


class Stroke(NamedTuple):
    """How one line is drawn."""

    style: Any  # matplotlib's line style
    height: float  # matplotlib's zorder


def same_lines(series: Mapping[str, Series]) -> list[list[str]]:
    """The names of series in groups of those that lie on each other, as far as the shorter of them goes."""
    drawn = [one.values for one in series.values() if len(one.values)]
    near = WITHIN * float(np.ptp(np.concatenate(drawn))) if drawn else 0.0
    groups: list[list[str]] = []
    for name, one in series.items():
        for group in groups:
            if _lie_on_each_other(series[group[0]], one, near):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups


def _lie_on_each_other(one: Series, other: Series, near: float) -> bool:
    if len(one.steps) < 2 or len(other.steps) < 2:
        return False
    first, last = max(one.steps[0], other.steps[0]), min(one.steps[-1], other.steps[-1])
    steps = np.union1d(one.steps, other.steps)
    steps = steps[(steps >= first) & (steps <= last)]
    apart = np.abs(np.interp(steps, *one) - np.interp(steps, *other))
    return len(steps) > 1 and bool((apart <= near).mean() >= MOST)


def strokes(series: Mapping[str, Series], looks: Mapping[str, Look], usual: Look) -> dict[str, Stroke]:
    """How each line is drawn: as it looks, or as stripes where another one lies below it."""
    found = {name: Stroke(looks.get(name, usual).linestyle, 2.0) for name in series}
    for names in same_lines(series):
        lowest = max(names, key=lambda name: float(series[name].steps[-1]) if len(series[name].steps) else 0.0)
        above, whole = [name for name in names if name != lowest], len(names) * STRIPE
        for place, name in enumerate(above, 1):
            found[name] = Stroke((whole - place * STRIPE, (STRIPE, whole - STRIPE)), 2.1)
    return found
