"""Atari-100k: 100,000 steps of each of 26 games, about two hours of play, and of two more. Our own study.

Every game is played in two ways, without sticky actions and with them: a memory can replay its best game where nothing
is random, which sticky actions forbid. MFEC plays all games; NEC and D3QN play those on which choices were made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engram.agents import find_agent
from engram.lab.grid import Grid, Study
from engram.paper.atari100k.games import BENCHMARK, BESIDE, DEVELOPMENT, PROTOCOLS, Played

STEPS = 100_000
DEVELOPMENT_SEEDS = range(3)  # with which choices are made, on the games of development: `--seeds 0-2`
SEEDS = range(10, 15)
GAMES_PLAYED = 20  # in the one evaluation, at the end; --evaluation-episodes 100 plays as many as others do
BASELINE = "baseline"  # the label of what is no variant
QUICK_GAMES = ("breakout", "frostbite", "ms_pacman", "road_runner")

MFEC: Mapping[str, Mapping[str, Any]] = {  # settings by variant, none for the baseline: the paper's for Atari
    "": find_agent("mfec").Config.preset_for("atari"),
}
# The paper's settings are made for 5,000,000 steps: NEC begins to learn after 50,000, and D3QN explores for 1,000,000.
# Both explore here as MFEC does, from step 5,000 to 25,000, so that they differ in what they learn and not in where
# they have been. The rest is as in data-efficient Rainbow (van Hasselt et al. 2019), which made a DQN's schedule for
# 100,000 steps: learning begins after 1,600, and every step is one of learning, as there are few; the target network is
# renewed every 2,000 of them; the replay keeps everything.
SCHEDULE = {
    "epsilon_anneal_start_steps": 5_000,
    "epsilon_anneal_end_steps": 25_000,
    "learning_start_steps": 1_600,
    "learning_interval_steps": 1,
    "replay_size": STEPS,
}


def grid(
    agent: str,
    played: Played,
    seeds: Sequence[int],
    settings: Mapping[str, Any],
    variant: str = "",
    labels: tuple[str, ...] = (),
    strategies: Sequence[str] = ("lru",),
    sizes: Sequence[int] = (10_000,),
) -> Grid:
    """The runs of an agent in one game, played in one way."""
    remembers = agent != "d3qn"
    return Grid(
        agent,
        played.env,
        STEPS,
        seeds,
        strategies if remembers else (),
        sizes if remembers else (),
        settings,
        evaluation_interval_steps=STEPS,
        evaluation_episodes=GAMES_PLAYED,
        variant=variant,
        labels=labels or (played.protocol, variant or BASELINE),
    )


def mfec(game: str) -> tuple[Grid, ...]:
    """MFEC, and each of its variants, in one game, played in both ways."""
    return tuple(
        grid("mfec", Played(game, protocol), SEEDS, settings, variant)
        for variant, settings in MFEC.items()
        for protocol in PROTOCOLS
    )


def baseline(played: Played, strategies: Sequence[str], sizes: Sequence[int]) -> Grid:
    """MFEC as it is, with other strategies and sizes, in one game, played in one way."""
    return grid("mfec", played, SEEDS, MFEC[""], strategies=strategies, sizes=sizes)


def with_networks(game: str) -> tuple[Grid, ...]:
    """NEC and D3QN in one game, played in both ways: one seed, as their runs are long and nothing is chosen by them."""
    nec = find_agent("nec").Config.preset_for("atari") | SCHEDULE
    d3qn = find_agent("d3qn").Config.preset_for("atari") | SCHEDULE | {"target_update_steps": 2_000}
    return tuple(
        grid(agent, Played(game, protocol), DEVELOPMENT_SEEDS[:1], settings)
        for agent, settings in (("nec", nec), ("d3qn", d3qn))
        for protocol in PROTOCOLS
    )


STUDY = Study(
    "atari100k",
    "Atari-100k: what a memory learns in two hours of play",
    (
        *(each for game in (*BENCHMARK, *BESIDE) for each in mfec(game)),
        *(each for game in DEVELOPMENT for each in with_networks(game)),
    ),
    report="engram.paper.atari100k.analysis:Atari100kReport",
    brief=tuple(replace(each, seeds=each.seeds[:1]) for game in QUICK_GAMES for each in mfec(game)),
)
