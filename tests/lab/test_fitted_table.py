"""Tables on screens of any width: no cell is ever cut, and what fits is not taken apart."""

from io import StringIO

import pytest
from rich.console import Console
from rich.table import Table

from engram.lab.fitted_table import FittedTable, height_of

ROWS = [
    [env, agent, size, f"{9 * number}.5 ± 12", "108 ± 21 (3)", "", "93 ± 7"]
    for number, (env, agent, size) in enumerate(
        (env, agent, size)
        for env in ("CartPole", "FourRoom")
        for agent in ("MFEC, few neighbours", "NEC")
        for size in ("20", "10,000")
    )
]
STUDY = FittedTable(
    ("environment", "agent", "entries"),
    ("LRU", "DkM, decay 0.3", "Oldest", "kM"),
    ROWS,
    left=("environment", "agent"),
    separable=True,
)


def printed(table: FittedTable, width: int) -> str:
    console = Console(width=width, file=StringIO(), soft_wrap=True)
    for part in table.within(width):
        console.print(part)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [1, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 200, 100_000])
@pytest.mark.parametrize("separable", [True, False])
def test_no_cell_is_cut(width: int, separable: bool) -> None:
    table = FittedTable(STUDY.names, STUDY.columns, ROWS, STUDY.left, separable)
    told = printed(table, width)
    assert "…" not in told
    for row in ROWS:
        for cell in row[2:]:
            assert told.count(cell) >= sum(cell == other for each in ROWS for other in each[2:])
    parts = table.within(width)
    if all(isinstance(part, Table) or part.style == "bold" for part in parts):  # not turned
        assert max(map(len, told.splitlines())) <= width
    assert height_of(parts) >= len(told.splitlines())


def test_what_fits_is_one_table() -> None:
    assert len(STUDY.within(STUDY.width())) == 1
    assert printed(STUDY, STUDY.width()).count("environment") == 1
    assert len(STUDY.within(STUDY.width() - 1)) > 1


def test_one_agent_after_another_sizes_down_strategies_across() -> None:
    lines = printed(STUDY, 60).splitlines()
    assert lines[0] == "CartPole, MFEC, few neighbours"
    assert lines[2].split() == ["entries", "LRU", "DkM,", "decay", "0.3", "kM"]  # what is empty is left out
    assert sum("FourRoom, NEC" in line for line in lines) == 1


def test_columns_that_do_not_fit_stand_below_the_others_if_they_may() -> None:
    told = printed(STUDY, 30)
    assert told.count("entries") > 4
    assert max(map(len, told.splitlines())) <= 30
    together = FittedTable(STUDY.names, STUDY.columns, ROWS, STUDY.left)
    assert "CartPole, MFEC, few neighbours, entries 20\n  LRU             0.5 ± 12\n" in printed(together, 30)


def test_columns_may_be_left_out() -> None:
    table = STUDY.without(("LRU", "Oldest"))
    assert list(table.columns) == ["DkM, decay 0.3", "kM"]
    assert table.rows[0] == ["CartPole", "MFEC, few neighbours", "20", "108 ± 21 (3)", "93 ± 7"]
