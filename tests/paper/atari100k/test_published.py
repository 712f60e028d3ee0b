"""The published numbers: totals come out as the papers have them, and every game has a score to be normalised by."""

from importlib.resources import files

import numpy as np
import pytest

from engram.errors import InvalidInputError
from engram.paper.atari100k.games import BENCHMARK, BESIDE
from engram.paper.atari100k.published import MEASURED, NAIT, normalised, normalised_scores, peers


@pytest.mark.parametrize(
    ("name", "mean", "median"),
    [
        ("DER", 0.285, 0.161),
        ("SimPLe", 0.332, 0.134),
        ("DrQ(ε)", 0.465, 0.312),
        ("SPR", 0.616, 0.396),
        ("IRIS", 1.046, 0.289),
        ("EfficientZero", 1.943, 1.090),
        ("MuZero", 0.562, 0.227),
    ],
)
def test_totals_are_those_of_the_papers(name: str, mean: float, median: float) -> None:
    scores = {peer.name: normalised_scores(peer, BENCHMARK) for peer in peers()}[name]
    assert len(scores) == 26
    assert (round(float(scores.mean()), 3), round(float(np.median(scores)), 3)) == (mean, median)


def test_every_agent_has_every_game_a_source_and_a_word_on_its_protocol() -> None:
    assert len(peers()) == 7
    for peer in peers():
        assert set(peer.scores) == set(BENCHMARK)
        assert "/" in peer.source
    assert set(MEASURED) == {peer.name for peer in peers()} | {NAIT.name}


def test_normalised_scores_are_0_for_random_play_and_1_for_a_person() -> None:
    lines = files("engram.paper.atari100k").joinpath("published.csv").read_text(encoding="utf-8").splitlines()
    printed = {tuple(line.split(",")[:2]): float(line.split(",")[2]) for line in lines[1:]}
    for game in (*BENCHMARK, *BESIDE):
        ends = printed["random", game], printed["human", game]
        assert normalised(game, ends) == pytest.approx([0, 1])
    assert normalised("ms_pacman", 307.3 + 2 * (6951.6 - 307.3)) == pytest.approx(2)
    with pytest.raises(InvalidInputError, match="no human score for the game 'tetris'"):
        normalised("tetris", 1)
