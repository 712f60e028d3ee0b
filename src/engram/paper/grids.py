"""Grids with the paper's settings: the tables of classic control and of the rooms are alike."""

from collections.abc import Sequence

from engram.agents import find_agent
from engram.agents.common.config import EnvFamily
from engram.lab.grid import Grid
from engram.memory.strategies import Strategy

AGENTS = ("mfec", "nec")  # the paper's agents with a memory
FIVE = ("lru", "rew", "sur", "kmeans", "dkm")  # the paper's strategies
ROOM_SIZES = (2, 5, 10, 25, 50, 100, 150, 200)  # ours: the paper prints none
# As many as the rules for claims need; 0 to 9 are left out, as their results were known when the rules got their form.
SEEDS = {"mfec": range(10, 30), "nec": range(10, 20), "d3qn": range(10, 15)}


def grid(
    agent: str,
    env: str,
    family: EnvFamily,
    steps: int,
    seeds: Sequence[int],
    strategies: Sequence[str | Strategy] = (),
    sizes: Sequence[int] = (),
    *,
    evaluation_interval_steps: int = 500,
) -> Grid:
    """A grid with the paper's settings for an agent in a family of environments."""
    settings = find_agent(agent).Config.preset_for(family)
    return Grid(agent, env, steps, seeds, strategies, sizes, settings, evaluation_interval_steps)


def table(env: str, family: EnvFamily, sizes: Sequence[int], *, mfec_steps: int = 20_000) -> tuple[Grid, ...]:
    """A table of the paper: MFEC and NEC with every strategy at every size, and D3QN."""
    return (
        grid("mfec", env, family, mfec_steps, SEEDS["mfec"], FIVE, sizes),
        grid("nec", env, family, 20_000, SEEDS["nec"], FIVE, sizes),
        grid("d3qn", env, family, 20_000, SEEDS["d3qn"]),
    )
