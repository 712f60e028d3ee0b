"""The forest plot of differences: where dots and intervals lie, and which of them are lit."""

import math

import numpy as np

from engram.lab.pages.differences import PLAIN, Dot, Panel, differences_figure
from engram.lab.statistics import Interval
from engram.pictures.canvas import Axes
from engram.pictures.colours import LIT

NOTHING = Interval(0.0, 0.0, 0.0)
UNKNOWN = Interval(-math.inf, 5.0, math.inf)
PANELS = [
    Panel("NEC, CartPole", 0, [Dot("the older key stays", "50", NOTHING, NOTHING)]),
    Panel(
        "MFEC, CartPole",
        0,
        [
            Dot("mean kernel", "50", Interval(-44.0, -21.0, -3.0), Interval(-70.0, -21.0, 30.0)),
            Dot("duplicates stored", "50", Interval(6.0, 8.0, 10.0), Interval(2.0, 8.0, 14.0)),
            Dot("mean kernel", "500", Interval(-95.0, -90.0, -85.0), Interval(-99.0, -90.0, -81.0)),
            Dot("duplicates stored", "500", UNKNOWN, UNKNOWN),
        ],
    ),
]


def dots(axes: Axes) -> dict[tuple[float, float], str]:
    """The colour of every dot, by its place."""
    lines = [line for line in axes.lines if line.get_marker() != "None"]
    places = [(float(x), round(float(y), 2)) for x, y in (np.asarray(line.get_xydata())[0] for line in lines)]
    return {place: str(line.get_color()) for place, line in zip(places, lines, strict=True)}


def intervals(axes: Axes) -> list[tuple[float, float]]:
    """The ends of every interval, thin and thick."""
    lines = [line for line in axes.lines if line.get_marker() == "None" and line.get_linestyle() == "-"]
    return sorted((float(low), float(high)) for low, high in (np.asarray(line.get_xdata()) for line in lines))


def test_the_panel_with_most_lines_is_first_and_what_lies_beyond_chance_is_lit() -> None:
    many, few = differences_figure(PANELS).axes
    assert many.get_title(loc="left") == "MFEC, CartPole: ● 50, ■ 500"
    assert [label.get_text() for label in many.get_yticklabels()] == ["mean kernel", "duplicates stored"]
    assert dots(many) == {
        (-21.0, -0.18): PLAIN,  # beside 0 by itself, but not with all others
        (8.0, 0.82): LIT,
        (-90.0, 0.18): LIT,
        (5.0, 1.18): PLAIN,
    }
    assert intervals(many) == [(-99.0, -81.0), (-95.0, -85.0), (-70.0, 30.0), (-44.0, -3.0), (2.0, 14.0), (6.0, 10.0)]
    assert few.get_title(loc="left") == "NEC, CartPole: ● 50"
    assert dots(few) == {(0.0, 0.0): PLAIN}


def test_everything_lies_within_its_panel() -> None:
    for axes in differences_figure(PANELS).axes:
        low, high = axes.get_xlim()
        assert low < min(0.0, *(low for low, _ in intervals(axes)))
        assert high > max(0.0, *(high for _, high in intervals(axes)))


def test_panels_with_the_same_lines_stand_side_by_side_and_name_them_once() -> None:
    other = Panel("MFEC, Acrobot", 0, [Dot(name, "150", NOTHING, NOTHING) for name in PANELS[1].lines])
    shown = [axes for axes in differences_figure([*PANELS, other]).axes if axes.get_visible()]
    assert [axes.get_title(loc="left") for axes in shown] == [
        "MFEC, CartPole: ● 50, ■ 500",
        "MFEC, Acrobot: ● 150",
        "NEC, CartPole: ● 50",
    ]
    assert [axes.yaxis.get_tick_params()["labelleft"] for axes in shown] == [True, False, True]
    first, second, third = (axes.get_subplotspec() for axes in shown)
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.rowspan == second.rowspan != third.rowspan


def test_four_series_of_a_line_have_a_sign_each_and_do_not_meet_those_of_the_next() -> None:
    sizes = ("10", "25", "50", "100")
    some = [Dot(name, size, Interval(1.0, 2.0, 3.0)) for name in ("LRU", "kM") for size in sizes]
    (axes,) = differences_figure([Panel("MFEC, OpenRoom", 2, some)], "Less the other's").axes
    assert axes.get_title(loc="left") == "MFEC, OpenRoom: ● 10, ■ 25, ▲ 50, ◆ 100"
    assert axes.get_xlabel() == "Less the other's"
    places = sorted(place for _, place in dots(axes))
    assert places == [-0.33, -0.11, 0.11, 0.33, 0.67, 0.89, 1.11, 1.33]
    assert set(dots(axes).values()) == {LIT}, "an interval by itself decides where there is no other"
    assert axes.get_xlim()[0] < 0


def test_a_panel_with_one_series_names_none() -> None:
    (axes,) = differences_figure([Panel("CartPole, D3QN", 0, [Dot("scaled keys", "", NOTHING)])]).axes
    assert axes.get_title(loc="left") == "CartPole, D3QN"
