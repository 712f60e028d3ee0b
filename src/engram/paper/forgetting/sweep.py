"""How fast should clusters forget? Settings of DkM and Fading beside LRU and kM, which never forgets; our own study."""

from collections.abc import Sequence

from engram.agents.common.config import EnvFamily
from engram.lab.grid import Grid, Study
from engram.lab.reference import merge_references
from engram.paper.acrobot import published as acrobot
from engram.paper.cartpole import published as cartpole
from engram.paper.cartpole.sweep import FIGURE_2
from engram.paper.grids import grid

STRATEGIES = (
    *("lru", "kmeans"),  # to be compared with
    *("dkm:decay=0", "dkm:decay=0.03", "dkm:decay=0.1", "dkm:decay=0.3", "dkm"),  # counts fall by a constant
    *("fading:lifetime=5", "fading", "fading:lifetime=20"),  # counts fall by a share
)


def both_agents(env: str, family: EnvFamily, sizes: Sequence[int], *, mfec_steps: int = 20_000) -> tuple[Grid, ...]:
    """All settings with MFEC and NEC."""
    return (
        grid("mfec", env, family, mfec_steps, range(5), STRATEGIES, sizes),
        grid("nec", env, family, 20_000, range(3), STRATEGIES, sizes),
    )


STUDY = Study(
    "forgetting",
    "How should clusters forget?",
    (
        *both_agents("CartPole-v1", "classic", (50, 150, 500, 3000), mfec_steps=15_000),
        *both_agents("Acrobot-v1", "classic", (50, 150, 500, 3000)),
        *both_agents("engram/OpenRoom-v0", "rooms", (10, 25, 50, 100)),
        *both_agents("engram/FourRoom-v0", "rooms", (10, 25, 50, 100)),
    ),
    merge_references(cartpole.REFERENCES, acrobot.REFERENCES),
    report="engram.paper.forgetting.analysis:ForgettingReport",
    enlarged=FIGURE_2,
)
