"""What the paper leaves open: runs as in the other studies, and with one choice at a time made the other way.

MFEC answers what both agents share, as its runs are short. What only NEC has to choose is varied on CartPole.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from engram.agents.common.config import EnvFamily
from engram.lab.grid import Grid, Study
from engram.lab.reference import merge_references
from engram.memory.batch import can_merge_episodes
from engram.memory.strategies import Strategy
from engram.paper.acrobot import published as acrobot
from engram.paper.cartpole import published as cartpole
from engram.paper.grids import FIVE, grid

MEANINGS = {  # of each variant: what it changes, and what else is done
    "mean kernel": "a read takes the mean of the neighbours, instead of counting near ones for more, by 1/(d² + δ)",
    "ties to the first action": "of actions with equal values the first is taken, instead of one at random",
    "duplicates stored": "a state met before is stored once more, instead of its entry being updated",
    "episodes merged as one": "clusters take in an episode's states in one batch, instead of one by one",
    "random steps count as use": "a random step counts as use of the entries near it too, not only a greedy one",
    "evaluation every 250 steps": "agents are evaluated every 250 steps, instead of every 500",
    "evaluation every 1,000 steps": "agents are evaluated every 1,000 steps, instead of every 500",
    "evaluation with ε = 0.05": "one action in twenty of an evaluation is random, instead of none",
    "the older key stays": "a state met again keeps its key, instead of taking the newer one",
    "clusters found by raw states": "the nearest cluster is found by observations, instead of by the network's keys",
}
SEEDS = range(10, 15)  # among those of the other studies, whose runs serve here too


def other(plain: Grid, variant: str, *, suits: Callable[[Strategy], bool] | None = None, **settings: object) -> Grid:
    """A grid with some settings made the other way, of those strategies for which that makes a difference."""
    return replace(plain, variant=variant, suits=suits, settings={**plain.settings, **settings})


def is_told_of_reads(strategy: Strategy) -> bool:
    """Whether it matters to a strategy which entries are read."""
    return bool(strategy.touches)


def choices_of_mfec(env: str, family: EnvFamily, sizes: Sequence[int], *, steps: int) -> tuple[Grid, ...]:
    """The grid of the other studies, and one grid for each choice made the other way."""
    plain = grid("mfec", env, family, steps, SEEDS, FIVE, sizes)
    return (
        plain,
        other(plain, "mean kernel", kernel="mean"),
        other(plain, "ties to the first action", ties="first"),
        other(plain, "duplicates stored", duplicates=True),
        other(plain, "episodes merged as one", merging="episode", suits=can_merge_episodes),
        other(plain, "random steps count as use", always_read=True, suits=is_told_of_reads),
        replace(plain, variant="evaluation every 250 steps", evaluation_interval_steps=250),
        replace(plain, variant="evaluation every 1,000 steps", evaluation_interval_steps=1_000),
        replace(plain, variant="evaluation with ε = 0.05", evaluation_epsilon=0.05),
    )


def choices_of_nec(env: str, family: EnvFamily, sizes: Sequence[int]) -> tuple[Grid, ...]:
    """Likewise, for what only NEC has to choose."""
    plain = grid("nec", env, family, 20_000, SEEDS, FIVE, sizes)
    return (
        plain,
        other(plain, "the older key stays", match_key="older"),
        other(plain, "clusters found by raw states", clusters_by="observations", suits=can_merge_episodes),
    )


STUDY = Study(
    "open",
    "What the paper leaves open, and what it changes",
    (
        *choices_of_mfec("CartPole-v1", "classic", (50, 500), steps=15_000),
        *choices_of_nec("CartPole-v1", "classic", (50, 500)),
        *choices_of_mfec("Acrobot-v1", "classic", (150,), steps=20_000),
        *choices_of_mfec("engram/OpenRoom-v0", "rooms", (25, 50), steps=20_000),
    ),
    merge_references(cartpole.REFERENCES, acrobot.REFERENCES),
    report="engram.paper.open.analysis:OpenReport",
)
