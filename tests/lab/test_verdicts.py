"""Verdicts on claims: what follows from the statements of a claim, and the levels of their intervals."""

from dataclasses import replace

import pytest

from engram.lab.statistics import Interval
from engram.lab.verdicts import FAILS, HOLDS, OPEN, Statement, judge, share


def test_all_intervals_together_have_95_per_cent() -> None:
    assert share(1) == pytest.approx(0.95)
    assert share(20) == pytest.approx(0.9975)
    assert share(0) == share(1)
    for count in (2, 7, 40):
        assert count * (1 - share(count)) == pytest.approx(0.05)


def test_a_verdict_follows_from_its_statements() -> None:
    interval = Interval(1.0, 2.0, 3.0)
    yes, no = Statement.positive("yes", interval), Statement.positive("no", Interval(-3.0, -2.0, -1.0))
    maybe = Statement.positive("maybe", Interval(-1.0, 0.0, 1.0))
    aside = replace(maybe, needed=False)
    against = replace(no, needed=False)
    assert (yes.supported, yes.refuted) == (True, False)
    assert (no.supported, no.refuted) == (False, True)
    assert (maybe.supported, maybe.refuted) == (False, False)
    assert judge([yes, aside]).word == HOLDS
    assert judge([yes, maybe]).word == OPEN
    assert judge([yes, maybe, no]).word == FAILS
    assert judge([yes, against]).word == FAILS
    assert judge([aside]).word == judge([]).word == OPEN
    assert judge([yes], ["a cell has no runs"]).word == OPEN
    assert judge([yes, no], ["a cell has no runs"]).word == FAILS
    assert "a cell has no runs" in judge([yes], ["a cell has no runs"]).why
    left_out = judge([yes], left_out=["CartPole, MFEC, 10,000"])
    assert left_out.word == HOLDS
    assert "no table ever filled: CartPole, MFEC, 10,000" in left_out.why
    assert judge([yes] * 5).why == "supported: yes: 2 [1, 3]; yes: 2 [1, 3]; yes: 2 [1, 3], and 2 more"
