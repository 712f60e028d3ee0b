"""At least as good as the best of several: margins, what passes, and how often."""

import numpy as np
import pytest
from scipy import stats

from engram.errors import InvalidInputError
from engram.lab.noninferiority import (
    GOOD,
    OPEN,
    WORSE,
    chance_of_passing,
    compare,
    is_good_everywhere,
    margin_factor,
    margins,
    passes_of_an_equal,
)

UPS_AND_DOWNS = np.tile((-1.0, 1.0), 10) * np.sqrt(19 / 20)  # 20 scores with mean 0 and deviation 1


def test_with_one_rival_the_margin_is_that_of_textbooks() -> None:
    """(t₀.₉₅ + z₀.₈) √(2/n), for many runs, so that their spread is known."""
    expected = (stats.t.ppf(0.95, 198) + stats.norm.ppf(0.8)) * np.sqrt(2 / 100)
    assert margin_factor(100, 1) == pytest.approx(expected, rel=0.02)


def test_more_rivals_need_a_wider_margin_and_more_runs_a_narrower_one() -> None:
    assert margin_factor(20, 1) < margin_factor(20, 4) < margin_factor(10, 4) < margin_factor(5, 4)
    assert margin_factor(20, 4) == pytest.approx(1.03, abs=0.005)
    assert margin_factor(10, 4) == pytest.approx(1.54, abs=0.005)


@pytest.mark.parametrize("given", [(2, 4), (20, 0)])
def test_too_few_runs_or_no_rival_are_refused(given: tuple[int, int]) -> None:
    with pytest.raises(InvalidInputError, match="at least 3 runs and a rival, got {} and {}".format(*given)):
        margin_factor(*given)


def test_a_margin_is_that_of_the_pair_of_the_best_and_the_rival() -> None:
    rivals = {"wide": 3 * UPS_AND_DOWNS, "best": 1 + UPS_AND_DOWNS}
    factor = margin_factor(20, 2)
    assert margins(rivals) == pytest.approx({"wide": factor * np.sqrt((1 + 9) / 2), "best": factor})
    assert margins({"one": np.ones(20), "two": np.zeros(20)}, least=0.02) == {"one": 0.02, "two": 0.02}


@pytest.mark.parametrize(
    ("deviations", "count"), [((1, 1, 1, 1), 10), ((1, 1, 1, 1), 20), ((1, 0.3, 2, 3), 20), ((1,), 20)]
)
def test_an_equal_strategy_passes_eight_times_in_ten_where_all_rivals_are_the_best(
    deviations: tuple[float, ...], count: int
) -> None:
    share = chance_of_passing(np.zeros(len(deviations)), np.array(deviations), count, draws=400)
    assert share == pytest.approx(0.8, abs=0.08)


def test_it_passes_more_often_where_one_rival_is_the_best() -> None:
    assert chance_of_passing(np.array([0.0, -3, -3, -3]), np.ones(4), 20, draws=300) > 0.9


def test_one_that_is_behind_by_the_margin_passes_once_in_twenty_at_most() -> None:
    behind = margin_factor(20, 4)
    assert chance_of_passing(np.array([0.0, -9, -9, -9]), np.ones(4), 20, behind=behind, draws=400) <= 0.08


@pytest.mark.parametrize(
    ("shift", "word"), [(0.0, GOOD), (-0.4, GOOD), (-0.6, OPEN), (-2.0, WORSE)], ids=["equal", "near", "open", "worse"]
)
def test_words(shift: float, word: str) -> None:
    rivals = {"lower": UPS_AND_DOWNS - 5, "best": UPS_AND_DOWNS, "other": UPS_AND_DOWNS - 0.1}
    found = compare(UPS_AND_DOWNS + shift, rivals)
    assert found.word == word
    assert found.closest.rival == "best"
    assert found.closest.estimate == pytest.approx(shift)
    assert [gap.rival for gap in found.gaps if gap.above] == ["lower"]
    assert found.better == (word == GOOD)


def test_among_many_cells_it_takes_more_to_be_worse_or_better() -> None:
    rivals = {"best": UPS_AND_DOWNS}
    assert compare(UPS_AND_DOWNS - 0.9, rivals).word == WORSE
    assert compare(UPS_AND_DOWNS - 0.9, rivals, cells=100).word == OPEN
    assert compare(UPS_AND_DOWNS + 0.9, rivals).better
    assert not compare(UPS_AND_DOWNS + 0.9, rivals, cells=100).better


def test_runs_that_all_score_the_same_are_at_least_as_good_as_the_same() -> None:
    rivals = {"one": np.zeros(20), "two": np.zeros(20)}
    assert compare(np.zeros(20), rivals).word == GOOD
    assert compare(np.full(20, -0.01), rivals).word == WORSE
    assert compare(np.full(20, -0.01), rivals, least=0.02).word == GOOD


def test_everywhere_is_as_often_as_an_equal_one_passes_and_worse_nowhere() -> None:
    assert stats.binom.cdf(passes_of_an_equal(50) - 1, 50, 0.8) <= 0.05
    assert passes_of_an_equal(1) == 0
    fewest = passes_of_an_equal(50)
    assert is_good_everywhere([GOOD] * fewest + [OPEN] * (50 - fewest))
    assert not is_good_everywhere([GOOD] * (fewest - 1) + [OPEN] * (51 - fewest))
    assert not is_good_everywhere([GOOD] * 49 + [WORSE])
    assert not is_good_everywhere([])
