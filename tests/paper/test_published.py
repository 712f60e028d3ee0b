"""The paper's numbers: what its text and its bold print say about them, and that they stand where our runs do."""

import pytest

from engram.envs.atari import GAMES
from engram.lab.cell import Cell
from engram.paper.acrobot import published as acrobot
from engram.paper.atari import published as atari
from engram.paper.cartpole import published as cartpole
from engram.paper.grids import FIVE
from engram.paper.registry import STUDIES
from tests.lab.pages.synthetic import declared

PAPER = {**cartpole.PAPER.scores, **acrobot.PAPER.scores, **atari.PAPER.scores}
RERUN = {**cartpole.RERUN.scores, **acrobot.RERUN.scores}

CARTPOLE, ACROBOT = "CartPole-v1", "Acrobot-v1"
SIZES = {CARTPOLE: (50, 100, 150, 500, 1000, 3000, 5000, 10_000), ACROBOT: (50, 150, 500, 1000, 5000, 10_000)}
BOLD = {  # of Tables 1 and 2, in the order of the sizes
    (CARTPOLE, "mfec"): "rew dkm dkm kmeans lru kmeans kmeans kmeans",
    (CARTPOLE, "nec"): "dkm dkm dkm dkm dkm kmeans kmeans kmeans",
    (ACROBOT, "mfec"): "dkm dkm dkm dkm lru lru",
    (ACROBOT, "nec"): "dkm dkm dkm dkm dkm dkm",
}
BOLD_GAMES = {  # of Table 3: MFEC and NEC at 10⁴, MFEC and NEC at 10⁵
    "engram/Bowling-v0": "dkm dkm lru dkm",
    "engram/MsPacman-v0": "dkm dkm lru lru",
    "engram/Pong-v0": "dkm dkm lru dkm",
    "engram/SpaceInvaders-v0": "lru lru lru lru",
    "engram/Qbert-v0": "dkm lru lru lru",
}


def ranked(env: str, agent: str, size: int, names: tuple[str, ...] = FIVE) -> list[str]:
    return sorted(names, key=lambda name: -PAPER[Cell(env, agent, name, size)].mean)


def test_every_number_is_there_once_and_has_a_place_among_our_runs() -> None:
    assert len(PAPER) == 8 * 10 + 6 * 10 + 5 * 8 + 7  # the last: D3QN
    ours = {Cell.of(place) for name in ("cartpole", "acrobot", "atari") for place in declared(name).values()}
    assert set(PAPER) == ours
    assert set(RERUN) <= ours
    assert len(RERUN) == 4 * 5 + 2 * 3
    for env, name in ((CARTPOLE, "cartpole"), (ACROBOT, "acrobot")):
        for grid in STUDIES[name].grids[:2]:
            assert tuple(grid.sizes) == SIZES[env]


def test_seeds_are_those_of_the_captions_and_ours_no_fewer() -> None:
    for cell, score in PAPER.items():
        assert score.seeds == (3 if cell.env in GAMES else 5)
        grid = next(grid for study in STUDIES.values() for grid in study.grids if (grid.env, grid.agent) == cell[:2])
        assert len(grid.seeds) >= score.seeds
    assert {score.seeds for score in RERUN.values()} == {3}


def test_steps_are_those_of_the_captions() -> None:
    ours = {
        Cell.of(place): place["steps"] for name in ("cartpole", "acrobot", "atari") for place in declared(name).values()
    }
    assert {cell: score.steps for cell, score in PAPER.items()} == ours
    assert {cell: score.steps for cell, score in RERUN.items()} == {cell: ours[cell] for cell in RERUN}
    assert PAPER[Cell(CARTPOLE, "mfec", "lru", 50)].steps == 15_000
    assert PAPER[Cell(ACROBOT, "nec", "dkm", 50)].steps == 20_000
    assert PAPER[Cell("engram/Pong-v0", "nec", "lru", 10_000)].steps == 5_000_000
    assert PAPER[Cell("engram/Pong-v0", "nec", "lru", 100_000)].steps == 3_500_000


@pytest.mark.parametrize(("env", "agent"), BOLD)
def test_bold_print_is_the_highest_mean(env: str, agent: str) -> None:
    assert [ranked(env, agent, size)[0] for size in SIZES[env]] == BOLD[env, agent].split()


@pytest.mark.parametrize("game", BOLD_GAMES)
def test_bold_print_of_the_games_is_the_higher_mean(game: str) -> None:
    places = [(agent, size) for size in (10_000, 100_000) for agent in ("mfec", "nec")]
    higher = [ranked(game, agent, size, ("lru", "dkm"))[0] for agent, size in places]
    assert higher == BOLD_GAMES[game].split()


def test_what_the_text_says_of_acrobot() -> None:
    """DkM has the best rewards in 10 of 12 settings, always below 5000, and is second only to LRU in the others."""
    settings = [(agent, size) for agent in ("mfec", "nec") for size in SIZES[ACROBOT]]
    best = [(agent, size) for agent, size in settings if ranked(ACROBOT, agent, size)[0] == "dkm"]
    assert len(settings) == 12
    assert len(best) == 10
    assert {(agent, size) for agent, size in settings if size < 5000} <= set(best)
    for agent, size in set(settings) - set(best):
        assert agent == "mfec"
        assert ranked(ACROBOT, agent, size)[:2] == ["lru", "dkm"]


def test_what_the_text_says_of_cartpole() -> None:
    """With NEC at 50 only DkM exceeds 200; DkM is best at 50–1000 with NEC, and at 100 and 150 with MFEC."""
    assert [name for name in FIVE if PAPER[Cell(CARTPOLE, "nec", name, 50)].mean > 200] == ["dkm"]
    best = {
        agent: [size for size in SIZES[CARTPOLE] if ranked(CARTPOLE, agent, size)[0] == "dkm"]
        for agent in ("mfec", "nec")
    }
    assert best == {"mfec": [100, 150], "nec": [50, 100, 150, 500, 1000]}


def test_what_the_text_says_of_the_games() -> None:
    """DkM wins in Bowling, Ms. Pac-Man and Pong with 10⁴; LRU in Space Invaders and Q*bert with 10⁵."""
    wins = {
        (game, agent, size)
        for game in GAMES
        for agent in ("mfec", "nec")
        for size in (10_000, 100_000)
        if ranked(game, agent, size, ("lru", "dkm"))[0] == "dkm"
    }
    for agent in ("mfec", "nec"):
        assert {(f"engram/{name}-v0", agent, 10_000) for name in ("Bowling", "MsPacman", "Pong")} <= wins
        assert not {(f"engram/{name}-v0", agent, 100_000) for name in ("SpaceInvaders", "Qbert")} & wins


def test_scores_are_possible() -> None:
    lowest_and_highest = {CARTPOLE: (8, 500), ACROBOT: (-500, -60), "engram/Pong-v0": (-21, 21)}
    for cell, score in {**PAPER, **RERUN}.items():
        low, high = lowest_and_highest.get(cell.env, (0, 10_000))
        assert low <= score.mean <= high
        assert score.std >= 0
        if score.std == 0:  # no deviation is printed where no seed ever reached the goal
            assert score.mean == -500


def test_columns_add_up_to_those_of_the_paper() -> None:
    """Every digit counts: sums of means and deviations over the sizes, or the games, as printed."""
    tables = {
        (CARTPOLE, "mfec"): ((1522.0, 228.0), (713.0, 154.0), (1103.0, 171.0), (1810.0, 478.0), (1423.0, 178.0)),
        (CARTPOLE, "nec"): ((1954.0, 282.0), (1002.0, 294.0), (1677.0, 387.0), (1924.0, 616.0), (2305.0, 298.0)),
        (ACROBOT, "mfec"): ((-2524.0, 448.0), (-3000.0, 0.0), (-2703.0, 221.0), (-2830.0, 338.0), (-1764.0, 671.0)),
        (ACROBOT, "nec"): ((-1945.4, 304.0), (-2993.0, 9.0), (-2943.0, 74.0), (-2095.0, 615.0), (-1387.8, 434.0)),
    }
    for (env, agent), sums in tables.items():
        for name, expected in zip(FIVE, sums, strict=True):
            assert added_up([Cell(env, agent, name, size) for size in SIZES[env]]) == pytest.approx(expected)
    games = {
        ("mfec", 10_000): ((4901.8, 1130.7), (6333.43, 2163.1)),
        ("nec", 10_000): ((6439.0, 1585.3), (6416.65, 1951.3)),
        ("mfec", 100_000): ((11062.4, 1334.2), (4508.3, 1695.7)),
        ("nec", 100_000): ((11204.7, 2412.4), (8066.7, 1704.1)),
    }
    for (agent, size), pair in games.items():
        for name, expected in zip(("lru", "dkm"), pair, strict=True):
            assert added_up([Cell(game, agent, name, size) for game in GAMES]) == pytest.approx(expected)
    assert added_up([Cell(game, "d3qn", None, None) for game in GAMES]) == pytest.approx((7356.6, 830.2))
    assert PAPER[Cell(CARTPOLE, "d3qn", None, None)][:2] == (249, 143)
    assert PAPER[Cell(ACROBOT, "d3qn", None, None)][:2] == (-336, 149)


def added_up(cells: list[Cell]) -> tuple[float, float]:
    return sum(PAPER[cell].mean for cell in cells), sum(PAPER[cell].std for cell in cells)
