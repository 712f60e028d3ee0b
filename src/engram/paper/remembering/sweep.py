"""Is one strategy at least as good as the best of the others everywhere? Adaptive beside LRU, kM, DkM and Fading.

Environments, sizes, steps and seeds are those of the paper's tables, whose runs serve here too (`--reuse`), and of a
memory on Atari that is too small for what is seen. No seed played a part in the making of Adaptive.
"""

from collections.abc import Sequence

from engram.agents.common.config import EnvFamily
from engram.lab.grid import Grid, Study
from engram.lab.reference import merge_references
from engram.paper.acrobot import published as acrobot
from engram.paper.cartpole import published as cartpole
from engram.paper.grids import ROOM_SIZES, SEEDS, grid

RIVALS = ("lru", "kmeans", "dkm", "fading")
STRATEGIES = (*RIVALS, "adaptive")
GAMES = ("engram/MsPacman-v0", "engram/Qbert-v0")


def both_agents(env: str, family: EnvFamily, sizes: Sequence[int], *, mfec_steps: int = 20_000) -> tuple[Grid, ...]:
    """All strategies with MFEC and NEC."""
    return (
        grid("mfec", env, family, mfec_steps, SEEDS["mfec"], STRATEGIES, sizes),
        grid("nec", env, family, 20_000, SEEDS["nec"], STRATEGIES, sizes),
    )


def one_game(game: str) -> Grid:
    """All strategies with MFEC on a game, with room for a fraction of what is seen."""
    return grid("mfec", game, "atari", 100_000, range(10, 20), STRATEGIES, (2_000,), evaluation_interval_steps=10_000)


STUDY = Study(
    "remembering",
    "Is one strategy at least as good as the others everywhere?",
    (
        *both_agents("CartPole-v1", "classic", (50, 100, 150, 500, 1000, 3000, 5000, 10_000), mfec_steps=15_000),
        *both_agents("Acrobot-v1", "classic", (50, 150, 500, 1000, 5000, 10_000)),
        *both_agents("engram/OpenRoom-v0", "rooms", ROOM_SIZES),
        *both_agents("engram/FourRoom-v0", "rooms", ROOM_SIZES),
        *map(one_game, GAMES),
    ),
    merge_references(cartpole.REFERENCES, acrobot.REFERENCES),
    report="engram.paper.remembering.analysis:RememberingReport",
)
