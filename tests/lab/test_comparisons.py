"""Comparisons of strategies: which cells count, in which units, and how often chance may refute them."""

import numpy as np
import pytest

from engram.lab.cell import Cell
from engram.lab.comparisons import Cells, Group, Scored, above, best
from engram.lab.evidence import Evidence
from engram.lab.statistics import difference, pooled_difference
from engram.lab.verdicts import judge
from engram.paper.grids import SEEDS
from tests.lab.pages.synthetic import Number, results, spread_out

CARTPOLE = "CartPole-v1"
GROUP = Group.sizes(CARTPOLE, "nec", (50, 100))


def evidence(mean: Number, spread: float = 1.0) -> Evidence:
    return Evidence([results("cartpole", spread_out(mean, spread), filled=lambda cell: cell.capacity != 10_000)])


def by_size(cell: Cell) -> float:
    return {"dkm": 30.0, "lru": 10.0 if cell.capacity == 50 else 28.0}.get(str(cell.strategy), 0.0)


def test_best_asks_for_the_mean_of_a_group_and_for_no_single_cell() -> None:
    known = evidence(by_size)
    found = best(known, "dkm", ["lru", "sur"], [GROUP])
    assert [(each.needed, each.quantity.above, each.quantity.where) for each in found.statements] == [
        (True, "above LRU", "CartPole, NEC, mean over 2 cells"),
        (True, "above SUR", "CartPole, NEC, mean over 2 cells"),
        (False, "above LRU", "CartPole, NEC, 50"),
        (False, "above SUR", "CartPole, NEC, 50"),
        (False, "above LRU", "CartPole, NEC, 100"),
        (False, "above SUR", "CartPole, NEC, 100"),
    ]
    pairs = [(cell.scores["dkm"], cell.scores["lru"]) for size in (50, 100) for cell in _cells(known, size)]
    assert found.statements[0].interval == pytest.approx(pooled_difference(pairs))
    assert found.statements[2].interval == pytest.approx(difference(*pairs[0]))
    assert found.statements[0].seeds == {"nec": len(SEEDS["nec"])}


def test_elsewhere_it_is_only_asked_that_none_is_better() -> None:
    other = Group.sizes(CARTPOLE, "nec", (500,))
    found = best(evidence(by_size), "dkm", ["lru"], [Group.sizes(CARTPOLE, "nec", (50,))], elsewhere=[other])
    assert [(each.needed, each.quantity.where) for each in found.statements] == [
        (True, "CartPole, NEC"),
        (False, "CartPole, NEC, 500"),
    ]


def test_cells_without_runs_are_lacking_and_those_that_never_filled_left_out() -> None:
    missing = results("cartpole", spread_out(1.0), without=lambda place: Cell.of(place)[2:] == ("lru", 100))
    found = best(Evidence([missing]), "dkm", ["lru"], [GROUP])
    assert found.lacking == ("CartPole, NEC, 100: no runs of LRU",)
    found = best(evidence(by_size), "dkm", ["lru"], [Group.sizes(CARTPOLE, "mfec", (50, 10_000))])
    assert found.left_out == ("CartPole, MFEC, 10,000, as no table ever filled",)
    assert judge(found.statements, found.lacking, found.left_out).why.endswith("as no table ever filled)")


def test_rivals_count_by_their_mean_and_environments_by_their_units() -> None:
    known = evidence(by_size)
    cells = [cell for size in (50, 100) for cell in _cells(known, size)]
    both = above("dkm", ["lru", "sur"], "here", cells, among=1)
    assert both.interval.estimate == pytest.approx(np.mean([30 - 5, 30 - 14]))
    assert (both.quantity.above, both.quantity.where) == ("above LRU and SUR", "here, mean over 2 cells")
    scaled = above("dkm", ["lru", "sur"], "here", cells, among=1, units={CARTPOLE: 50.0})
    assert tuple(scaled.interval) == pytest.approx(np.array(both.interval) / 50)
    assert "41.0 % of a game's range above LRU and SUR" in scaled.said


def _cells(known: Evidence, size: int) -> list[Scored]:
    return list(Cells.read(known, Group.sizes(CARTPOLE, "nec", (size,)), ("dkm", "lru", "sur")).there)
