"""Forest plots of strategies: whatever they are called, their names fit."""

import warnings

import pytest

from engram.lab.pages.forest import Panel, Row, forest
from engram.lab.pages.style import looks
from engram.lab.statistics import Interval
from engram.pictures.canvas import svg_of

LONG = "a_strategy_of_my_own_with_a_name_of_more_than_sixty_letters_in_all"


@pytest.mark.parametrize("panels", [1, 4])
def test_long_names_and_titles_go_on_in_the_next_line(panels: int) -> None:
    rows = [Row(name, Interval(1, 2, 3), Interval(0.5, 0.6, 0.7), 5) for name in ("LRU", LONG)]
    title = "CartPole-v1 (max_episode_steps=30), MFEC, n = 5 at each of 2 sizes"
    drawn = forest([Panel(title, "", "mean", rows, (0, 4))] * panels, looks(["lru", LONG]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg_of(drawn)
    for axes in drawn.axes[::2]:
        texts = [label.get_window_extent() for label in axes.get_yticklabels()]
        assert min(box.x0 for box in texts) >= 0
        heading = axes.title if axes.title.get_text() else axes._left_title  # type: ignore[attr-defined]
        assert heading.get_text().replace("\n", " ") == title
        assert heading.get_window_extent().x1 <= drawn.bbox.x1
        assert axes.get_window_extent().width > 50
    assert next(each.get_text() for each in drawn.axes[0].get_yticklabels()) == "LRU"
