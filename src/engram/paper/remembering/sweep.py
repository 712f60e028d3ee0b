"""Is one strategy at least as good as the best of others everywhere? Adaptive beside LRU, kM, DkM and Fading.

Environments, sizes and steps are those of the paper's tables, whose runs serve here too (`--reuse`), with 20 seeds for
both agents; and on the games of development, those of Atari-100k, with room for a fraction of what is seen. No seed
played a part in the making of Adaptive.
"""

from collections.abc import Sequence

from engram.agents.common.config import EnvFamily
from engram.lab.grid import Grid, Study
from engram.lab.reference import merge_references
from engram.paper.acrobot import published as acrobot
from engram.paper.atari100k import sweep as atari100k
from engram.paper.atari100k.games import DEVELOPMENT, Played
from engram.paper.cartpole import published as cartpole
from engram.paper.grids import AGENTS, ROOM_SIZES, SEEDS, grid

RIVALS = ("lru", "kmeans", "dkm", "fading")
STRATEGIES = (*RIVALS, "adaptive")
GAME_SIZES = (1_000, 2_000, 10_000)


def both_agents(env: str, family: EnvFamily, sizes: Sequence[int], *, mfec_steps: int = 20_000) -> tuple[Grid, ...]:
    """All strategies with MFEC and NEC."""
    steps = {"mfec": mfec_steps, "nec": 20_000}
    return tuple(grid(agent, env, family, steps[agent], SEEDS["mfec"], STRATEGIES, sizes) for agent in AGENTS)


STUDY = Study(
    "remembering",
    "Is one strategy at least as good as the others everywhere?",
    (
        *both_agents("CartPole-v1", "classic", (50, 100, 150, 500, 1000, 3000, 5000, 10_000), mfec_steps=15_000),
        *both_agents("Acrobot-v1", "classic", (50, 150, 500, 1000, 5000, 10_000)),
        *both_agents("engram/OpenRoom-v0", "rooms", ROOM_SIZES),
        *both_agents("engram/FourRoom-v0", "rooms", ROOM_SIZES),
        *(atari100k.baseline(Played(game, "plain"), STRATEGIES, GAME_SIZES) for game in DEVELOPMENT),
    ),
    merge_references(cartpole.REFERENCES, acrobot.REFERENCES),
    report="engram.paper.remembering.analysis:RememberingReport",
)
