"""The paper's experiments, and ours, as data.

Steps, sizes and seeds are those of Agostinelli et al. 2019 where it gives them (Tables 1–3). The evaluation interval
off Atari and the rooms' sizes and steps are ours: the paper prints none.
"""

from collections.abc import Sequence
from dataclasses import replace

from engram.envs.atari import GAMES
from engram.lab.grid import Grid, Study
from engram.paper.presets import Family

PAPER = ("lru", "rew", "sur", "kmeans", "dkm")
FORGETTING = (
    *("lru", "kmeans"),  # to be compared with
    *("dkm:decay=0", "dkm:decay=0.03", "dkm:decay=0.1", "dkm:decay=0.3", "dkm"),  # counts fall by a constant
    *("fading:lifetime=5", "fading", "fading:lifetime=20"),  # counts fall by a share
)
ROOM_SIZES = (2, 5, 10, 25, 50, 100, 150, 200)


def paper(env: str, family: Family, sizes: Sequence[int], *, mfec_steps: int = 20_000) -> tuple[Grid, ...]:
    """A table of the paper: both episodic agents with every strategy at every size, and D3QN."""
    return (
        Grid("mfec", env, family, mfec_steps, range(5), PAPER, sizes),
        Grid("nec", env, family, 20_000, range(5), PAPER, sizes),
        Grid("d3qn", env, family, 20_000, range(5)),
    )


def forgetting(env: str, family: Family, sizes: Sequence[int], *, mfec_steps: int = 20_000) -> tuple[Grid, ...]:
    """How fast clusters should forget, beside what never forgets (kM) and what forgets the oldest (LRU)."""
    return (
        Grid("mfec", env, family, mfec_steps, range(5), FORGETTING, sizes),
        Grid("nec", env, family, 20_000, range(3), FORGETTING, sizes),
    )


def atari(game: str) -> tuple[Grid, ...]:
    """A row of the paper's Table 3. NEC with the larger memory was given fewer steps."""
    strategies, seeds, every = ("lru", "dkm"), range(3), 50_000
    return (
        Grid("mfec", game, "atari", 5_000_000, seeds, strategies, (10_000, 100_000), evaluation_interval_steps=every),
        Grid("nec", game, "atari", 5_000_000, seeds, strategies, (10_000,), evaluation_interval_steps=every),
        Grid("nec", game, "atari", 3_500_000, seeds, strategies, (100_000,), evaluation_interval_steps=every),
        Grid("d3qn", game, "atari", 5_000_000, seeds, evaluation_interval_steps=every),
    )


def what_is_left_open(env: str, family: Family, sizes: Sequence[int], *, steps: int) -> tuple[Grid, ...]:
    """MFEC as the study of the paper has it, and with one choice at a time made the other way."""
    plain = Grid("mfec", env, family, steps, range(5), PAPER, sizes)
    return (
        plain,
        replace(plain, variant="mean kernel", settings={"kernel": "mean"}),
        replace(plain, variant="ties to the first action", settings={"ties": "first"}),
        replace(plain, variant="duplicates stored", settings={"duplicates": True}),
        replace(plain, variant="episodes merged as one", settings={"merging": "episode"}, merging_only=True),
        replace(plain, variant="evaluation every 250 steps", evaluation_interval_steps=250),
        replace(plain, variant="evaluation every 1,000 steps", evaluation_interval_steps=1_000),
        replace(plain, variant="evaluation with ε = 0.05", evaluation_epsilon=0.05),
    )


STUDIES = {
    study.name: study
    for study in (
        Study(
            "cartpole",
            "CartPole: five ways to forget at eight memory sizes",
            paper("CartPole-v1", "classic", (50, 100, 150, 500, 1000, 3000, 5000, 10_000), mfec_steps=15_000),
        ),
        Study(
            "acrobot",
            "Acrobot: five ways to forget at six memory sizes",
            paper("Acrobot-v1", "classic", (50, 150, 500, 1000, 5000, 10_000)),
        ),
        Study(
            "openroom",
            "OpenRoom: five ways to forget at eight memory sizes",
            paper("engram/OpenRoom-v0", "rooms", ROOM_SIZES),
        ),
        Study(
            "fourroom",
            "FourRoom: five ways to forget at eight memory sizes",
            paper("engram/FourRoom-v0", "rooms", ROOM_SIZES),
        ),
        Study(
            "atari",
            "Five Atari games: what to forget",
            tuple(grid for game in GAMES for grid in atari(game)),
        ),
        Study(
            "forgetting",
            "How should clusters forget?",
            (
                *forgetting("CartPole-v1", "classic", (50, 150, 500, 3000), mfec_steps=15_000),
                *forgetting("Acrobot-v1", "classic", (50, 150, 500, 3000)),
                *forgetting("engram/OpenRoom-v0", "rooms", (10, 25, 50, 100)),
                *forgetting("engram/FourRoom-v0", "rooms", (10, 25, 50, 100)),
            ),
        ),
        Study(
            "open",
            "What the paper leaves open, and what it changes",
            (
                *what_is_left_open("CartPole-v1", "classic", (50, 500), steps=15_000),
                *what_is_left_open("Acrobot-v1", "classic", (150,), steps=20_000),
                *what_is_left_open("engram/OpenRoom-v0", "rooms", (25, 50), steps=20_000),
            ),
        ),
    )
}
