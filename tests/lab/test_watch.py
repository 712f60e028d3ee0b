"""What a study shows at its end: every score whole, however narrow the screen."""

from io import StringIO

import pytest
from rich.console import Console

from engram.lab.grid import Grid, Study
from engram.lab.outcome import Begun, Outcome
from engram.lab.watch import CAPTION, Watch

STUDY = Study(
    "wide",
    "",
    (
        Grid("mfec", "CartPole-v1", 500, range(3), ("lru", "dkm:decay=0.3", "kmeans", "sur", "rew"), (20, 500)),
        Grid("mfec", "CartPole-v1", 500, range(3), ("lru",), (20,), {"neighbours": 3}, variant="three neighbours"),
        Grid("d3qn", "engram/OpenRoom-v0", 500, range(3)),
    ),
)


def shown(width: int, *, terminal: bool = False) -> tuple[str, set[str]]:
    """What is printed, and the scores that must be in it."""
    console = Console(width=width, file=StringIO(), soft_wrap=True, force_terminal=terminal, no_color=True)
    runs = STUDY.runs()
    with Watch(runs, console, STUDY.variants()) as watch:
        for number, run in enumerate(runs):
            watch(Begun(run))
            if number != 1:  # which fails
                watch(Outcome(run, {"score": 100.0 + 7 * number}))
            else:
                watch(Outcome(run, error="no"))
    table = watch.table()
    assert isinstance(console.file, StringIO)
    return console.file.getvalue(), {str(cell) for row in table.rows for cell in row[len(table.names) :]} - {""}


@pytest.mark.parametrize("width", [30, 60, 80, 120, 100_000])
def test_no_score_is_cut(width: int) -> None:
    told, scores = shown(width)
    assert len(scores) == 12
    assert any(score.endswith("(2)") for score in scores)
    assert {score for score in scores if score not in told} == set()
    assert "…" not in told
    assert " ".join(told.split()).endswith(CAPTION)


def test_a_terminal_shows_the_same_at_the_end() -> None:
    told, scores = shown(60, terminal=True)
    assert {score for score in scores if score not in told} == set()
