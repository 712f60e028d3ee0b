"""Lines that lie on each other are all seen."""

import numpy as np

from engram.lab.pages.curves import Curve, learning_curves
from engram.lab.pages.stripes import STRIPE, Stroke, same_lines, strokes
from engram.lab.pages.style import PLAIN, Look
from engram.lab.run_record import Series

STEPS = np.arange(1, 11) * 500.0
RISING = np.linspace(0, 100, 10)
LOOKS = {"one": Look("#0072B2"), "two": Look("#D55E00"), "three": Look("#009E73")}


def test_lines_that_hide_each_other_on_most_of_their_way_are_one_group() -> None:
    near = RISING + 0.5
    near[4] += 30  # apart at a single point
    found = {"one": Series(STEPS, RISING), "two": Series(STEPS, RISING + 5), "three": Series(STEPS, near)}
    assert same_lines(found) == [["one", "three"], ["two"]]


def test_the_longest_line_is_whole_and_the_others_are_stripes_upon_it() -> None:
    short, every = Series(STEPS[:6], RISING[:6]), Series(STEPS, RISING)
    found = strokes({"one": short, "two": every, "three": short}, LOOKS, PLAIN)
    assert found["two"] == Stroke("solid", 2.0)  # where the others have ended, too
    assert found["one"].height > found["two"].height < found["three"].height
    (_, (on, off)), (_, gaps) = found["one"].style, found["three"].style
    assert (on, off) == gaps == (STRIPE, 2 * STRIPE)
    assert found["one"].style[0] != found["three"].style[0]  # in turns


def test_evaluations_at_other_steps_are_compared_where_both_are() -> None:
    assert same_lines({"one": Series(STEPS, RISING), "two": Series(STEPS[::3], RISING[::3])}) == [["one", "two"]]
    assert same_lines({"one": Series(STEPS[:1], RISING[:1]), "two": Series(STEPS, RISING)}) == [["one"], ["two"]]
    assert same_lines({"one": Series(STEPS[:3], RISING[:3]), "two": Series(STEPS[4:], RISING[4:])}) == [
        ["one"],
        ["two"],
    ]


def test_curves_of_studies_are_striped_too() -> None:
    returns = np.stack([RISING, RISING])
    curves = [Curve("one", STEPS, returns), Curve("two", STEPS, returns), Curve("three", STEPS, returns[:, ::-1])]
    lines = learning_curves(curves, LOOKS, y_label="Return").axes[0].lines
    assert [line.is_dashed() for line in lines] == [False, True, False]
