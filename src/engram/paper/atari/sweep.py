"""Five Atari games: the paper's Table 3. NEC with the larger memory was given fewer steps."""

from engram.envs.atari import GAMES
from engram.lab.grid import Grid, Study
from engram.paper.atari.published import LARGE_NEC_STEPS, REFERENCES, STEPS
from engram.paper.grids import grid


def one_game(game: str) -> tuple[Grid, ...]:
    """A row of the table."""
    strategies, seeds, every = ("lru", "dkm"), range(3), 50_000
    return (
        grid("mfec", game, "atari", STEPS, seeds, strategies, (10_000, 100_000), evaluation_interval_steps=every),
        grid("nec", game, "atari", STEPS, seeds, strategies, (10_000,), evaluation_interval_steps=every),
        grid("nec", game, "atari", LARGE_NEC_STEPS, seeds, strategies, (100_000,), evaluation_interval_steps=every),
        grid("d3qn", game, "atari", STEPS, seeds, evaluation_interval_steps=every),
    )


STUDY = Study(
    "atari",
    "Atari: what should a full memory forget?",
    tuple(each for game in GAMES for each in one_game(game)),
    REFERENCES,
    claims="engram.paper.claims:CLAIMS",
)
