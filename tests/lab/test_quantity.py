"""Numbers in plain words: signs said as words, digits that mean something."""

from math import inf

import pytest

from engram.lab.quantity import Quantity
from engram.lab.statistics import Interval

SCORES = Quantity("DkM scores", "above kM", "below kM", "CartPole, NEC")
COST = Quantity("a write takes", "longer", "less", "1,000 entries", unit="of a lookup", percent=True)
SHARE = Quantity("LRU reaches", "of its goals", percent=True)


@pytest.mark.parametrize(
    ("quantity", "interval", "said"),
    [
        (SCORES, (68.2, 122.4, 175.0), "DkM scores 122 above kM (CartPole, NEC), 95 % interval 68 to 175"),
        (SCORES, (-175.0, -122.4, -68.2), "DkM scores 122 below kM (CartPole, NEC), 95 % interval 68 to 175"),
        (SCORES, (-17.0, -6.3, 5.2), "DkM scores 6 below kM (CartPole, NEC), 95 % interval 17 below to 5 above"),
        (SCORES, (-inf, 3.0, inf), "DkM scores 3.0 above kM (CartPole, NEC), too few runs for an interval"),
        (SCORES, (-1e-4, 2e-4, 5e-4), "DkM scores 0.00020 above kM (CartPole, NEC), 95 % interval 0.00010 below "
                                      "to 0.00050 above"),
        (SCORES, (2000.0, 12345.6, 22000.0), "DkM scores 12,346 above kM (CartPole, NEC), 95 % interval 2,000 to "
                                             "22,000"),
        (COST, (-0.01, 0.031, 0.07), "a write takes 3.1 % of a lookup longer (1,000 entries), 95 % interval "
                                     "1.0 % less to 7.0 % longer"),
        (SHARE, (0.5, 0.75, 1.0), "LRU reaches 75 % of its goals, 95 % interval 50 % to 100 %"),
        (SHARE, (0.0, 0.0, 0.0), "LRU reaches 0 % of its goals, 95 % interval 0 % to 0 %"),
        (Quantity("it is", "degrees"), (-3.0, -2.0, -1.0), "it is −2.0 degrees, 95 % interval −3.0 to −1.0"),
    ],
)  # fmt: skip
def test_what_is_said(quantity: Quantity, interval: tuple[float, float, float], said: str) -> None:
    assert quantity.said(Interval(*interval)) == said


def test_a_number_can_be_told_without_its_interval() -> None:
    assert SCORES.measured(Interval(-inf, -122.4, inf)) == "DkM scores 122 below kM (CartPole, NEC)"
    assert COST.measured(Interval(-0.01, 0.031, 0.07)) == "a write takes 3.1 % of a lookup longer (1,000 entries)"
