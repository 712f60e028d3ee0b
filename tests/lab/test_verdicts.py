"""Verdicts on claims: what follows from statements, from their number of runs, and from the power of a rule."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import inf

import pytest

from engram.lab.evidence import Evidence
from engram.lab.quantity import Quantity
from engram.lab.statistics import Interval, mean_interval
from engram.lab.verdicts import (
    BEYOND,
    FAILS,
    FEW,
    HOLDS,
    OPEN,
    Aim,
    Chance,
    Claim,
    Findings,
    Statement,
    fewest,
    in_words,
    judge,
    one_of,
)

SCORE = Quantity("it scores", "above", "below")
SEEDS = {"nec": 5}
YES = Statement(SCORE, Interval(1.0, 2.0, 3.0), supported=True, seeds=SEEDS)
NO = Statement(SCORE, Interval(-3.0, -2.0, -1.0), refuted=True, seeds=SEEDS)
MAYBE = Statement(SCORE, Interval(-1.0, 0.0, 1.0), seeds=SEEDS)


def test_a_verdict_follows_from_its_statements() -> None:
    aside, against = replace(MAYBE, needed=False), replace(NO, needed=False)
    assert judge([YES, aside]).word == HOLDS
    assert judge([YES, MAYBE]).word == OPEN
    assert judge([YES, MAYBE, NO]).word == judge([YES, against]).word == FAILS
    assert judge([aside]).word == judge([]).word == OPEN
    assert judge([YES], ["a cell has no runs"]).word == FEW
    assert judge([YES, NO], ["a cell has no runs"]).word == FAILS
    assert judge([YES], ["a cell has no runs"]).headline == "Too few runs: a cell has no runs"
    left_out = judge([YES], left_out=["CartPole, MFEC, 10,000"])
    assert left_out.word == HOLDS
    assert left_out.why.endswith("(not counted: CartPole, MFEC, 10,000)")
    assert judge([YES] * 5).why.count("it scores 2.0 above") == 3
    assert judge([YES] * 5).why.endswith("; and 2 more")


def test_the_headline_is_the_strongest_against_a_claim_or_the_weakest_for_it() -> None:
    narrow = replace(YES, interval=Interval(0.1, 2.0, 3.9))
    worse = replace(NO, interval=Interval(-9.0, -8.0, -7.0))
    assert judge([YES, narrow]).decisive == narrow
    assert judge([YES, narrow]).headline == "It scores 2.0 above, 95 % interval 0.1 to 3.9"
    assert judge([YES, MAYBE, narrow]).decisive == MAYBE
    assert judge([NO, worse, YES]).decisive == worse
    assert judge([]).decisive is None


@pytest.mark.parametrize(
    ("values", "aim", "supported", "refuted"),
    [
        ([1.0, 2.0, 3.0, 2.0, 2.0], (0.0, inf), True, False),
        ([1.0, 2.0, 3.0, 2.0, 2.0], (-inf, 0.0), False, True),
        ([1.0, 2.0, 3.0, 2.0, 2.0], (0.0, 2.5), False, False),
        ([-1.0, 0.0, 1.0, 0.0, 0.0], (-2.0, 2.0), True, False),
        ([-1.0, 0.0, 1.0, 0.0, 0.0], (0.0, inf), False, False),
        ([1.0, 2.0], (0.0, inf), False, False),
    ],
)
def test_a_statement_is_measured_by_where_its_interval_lies(
    values: list[float], aim: Aim, supported: bool, refuted: bool
) -> None:
    found = Statement.measured(SCORE, partial(mean_interval, values), SEEDS, aim=aim)
    assert (found.supported, found.refuted) == (supported, refuted)
    assert found.interval == mean_interval(values)


def test_many_statements_are_refuted_and_many_tries_supported_at_a_stricter_level() -> None:
    asked = list[float]()

    def interval(*, level: float) -> Interval:
        asked.append(level)
        return Interval(0.0, 1.0, 2.0)

    Statement.measured(SCORE, interval, SEEDS, among=10, tries=2)
    assert sorted(asked) == pytest.approx([0.95, 0.975, 0.995])


def test_of_several_places_one_would_do_and_all_must_refute() -> None:
    other = replace(NO, seeds={"mfec": 3})
    assert one_of([other, YES]) == replace(YES, seeds={"mfec": 3, "nec": 5})
    assert not one_of([NO, MAYBE]).refuted
    assert one_of([NO, other]).refuted


def claim(statements: Sequence[Statement], power: tuple[Chance, ...] = ()) -> Claim:
    return Claim(1, "It is so.", "“It is so.”", "It is.", (), lambda e: Findings(statements), 5, power=power)


def test_fewer_runs_than_the_rules_minimum_give_no_verdict() -> None:
    few = [replace(each, seeds={"mfec": 20, "nec": 4}) for each in (YES, NO, MAYBE)]
    for each in few:
        verdict = claim([YES, each]).decide(Evidence())
        assert verdict.word == FEW
        assert "MFEC 20 and NEC 4 seeds, 5 needed" in verdict.headline
        assert each not in verdict.statements
    assert claim([few[0], NO]).decide(Evidence()).word == FAILS  # the other has its runs
    assert claim([replace(YES, seeds={})]).decide(Evidence()).word == FEW


def test_where_runs_are_missing_it_is_said_how_many_it_takes() -> None:
    few = replace(YES, seeds={"mfec": 2, "nec": 2})
    power = tuple(Chance("paper", {"mfec": n, "nec": n}, 100, found, 0) for n, found in ((3, 43), (5, 91), (9, 99)))
    verdict = claim([few], power).decide(Evidence())
    assert verdict.word == FEW
    assert verdict.headline.endswith("2 seeds, 5 needed; to decide it takes 5 seeds of every cell")
    assert "takes" not in claim([few], power[:1]).decide(Evidence()).headline  # nobody knows


def test_an_open_claim_that_a_true_one_would_be_too_cannot_be_decided() -> None:
    power = (
        Chance("paper", {"nec": 5}, 100, 50, 0),
        Chance("alike", {"nec": 5}, 100, 99, 0),
        Chance("paper", {"nec": 10}, 100, 79, 0),
        Chance("paper", {"nec": 20}, 100, 80, 0),
    )
    verdict = claim([MAYBE], power).decide(Evidence())
    assert verdict.word == BEYOND
    assert verdict.headline.endswith("; 5 seeds cannot decide it, 20 seeds could")
    assert claim([YES], power).decide(Evidence()).word == HOLDS
    assert claim([NO], power).decide(Evidence()).word == FAILS
    assert claim([], power).decide(Evidence()).word == OPEN  # no table filled: more seeds would not help
    assert claim([replace(MAYBE, seeds={"nec": 19})], power).decide(Evidence()).word == BEYOND
    assert claim([replace(MAYBE, seeds={"nec": 20})], power).decide(Evidence()).word == OPEN
    assert claim([MAYBE]).decide(Evidence()).word == OPEN  # nobody knows
    assert "nor can any" in claim([MAYBE], power[:2]).decide(Evidence()).headline


def test_numbers_of_runs_in_words() -> None:
    assert in_words({"mfec": 5, "nec": 5}) == in_words({"nec": 5}) == "5 seeds"
    assert in_words({"mfec": 20, "nec": 5}) == "MFEC 20 and NEC 5 seeds"
    assert in_words({}) == "0 seeds"
    assert in_words({"stream": 11}, "round") == "11 rounds"
    assert fewest([{"mfec": 20}, {"nec": 7, "mfec": 3}, {"nec": 9}]) == {"mfec": 3, "nec": 7}
