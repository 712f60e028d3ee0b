"""What the paper leaves open: MFEC as in the other studies, and with one choice at a time made the other way."""

from collections.abc import Sequence
from dataclasses import replace

from engram.agents.common.config import EnvFamily
from engram.lab.grid import Grid, Study
from engram.lab.reference import merge_references
from engram.paper.acrobot import published as acrobot
from engram.paper.cartpole import published as cartpole
from engram.paper.grids import FIVE, grid


def choices(env: str, family: EnvFamily, sizes: Sequence[int], *, steps: int) -> tuple[Grid, ...]:
    """The grid of the other studies, and one grid for each choice made the other way."""
    plain = grid("mfec", env, family, steps, range(5), FIVE, sizes)

    def other(variant: str, **settings: object) -> Grid:
        return replace(plain, variant=variant, settings={**plain.settings, **settings})

    return (
        plain,
        other("mean kernel", kernel="mean"),
        other("ties to the first action", ties="first"),
        other("duplicates stored", duplicates=True),
        replace(other("episodes merged as one", merging="episode"), merging_only=True),
        replace(plain, variant="evaluation every 250 steps", evaluation_interval_steps=250),
        replace(plain, variant="evaluation every 1,000 steps", evaluation_interval_steps=1_000),
        replace(plain, variant="evaluation with ε = 0.05", evaluation_epsilon=0.05),
    )


STUDY = Study(
    "open",
    "What the paper leaves open, and what it changes",
    (
        *choices("CartPole-v1", "classic", (50, 500), steps=15_000),
        *choices("Acrobot-v1", "classic", (150,), steps=20_000),
        *choices("engram/OpenRoom-v0", "rooms", (25, 50), steps=20_000),
    ),
    merge_references(cartpole.REFERENCES, acrobot.REFERENCES),
    report="engram.paper.open.analysis:OpenReport",
)
