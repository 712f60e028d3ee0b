"""Keys of real play, to search among: tables from some games, queries from others."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engram.agents.mfec import MFEC
from engram.encoders.projection import Projection
from engram.parts import Spaces
from engram.randomness import generator
from engram.typing import Array, Floats

KEYS, TABLES = 128, 6
ENCODER = 0  # the seed of the projection: an agent that is given these keys must have it too
FINAL: dict[str, Any] = {"epsilon_initial": 5e-3, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 0}


def play(game: Any, frames: int, choose: Callable[[Array], int], seed: int) -> Floats:
    """Keys of so many observations of play, [frames, 128], as an agent of seed `ENCODER` has them."""
    encode = Projection(KEYS).build(Spaces((4, 84, 84), np.dtype(np.uint8), 1), generator(ENCODER, "encoder"))
    keys = np.empty((frames, KEYS), np.float32)
    observation, _ = game.reset(seed=seed)
    for count in range(frames):
        keys[count] = encode(observation[None])[0]
        observation, _, terminated, truncated, _ = game.step(choose(observation))
        if terminated or truncated:
            observation, _ = game.reset(seed=seed + count + 1)
    return keys


def random_play(name: str, frames: int, seed: int) -> Floats:
    """Keys of random play in a game."""
    from engram.envs.atari import AtariGame  # noqa: PLC0415 (an extra)

    game, rng = AtariGame(name), np.random.default_rng(seed)
    space: Any = game.action_space
    actions = int(space.n)
    return play(game, frames, lambda _: int(rng.integers(actions)), seed)


def greedy_play(name: str, keys: Floats, frames: int, seed: int) -> Floats:
    """Keys of a greedy policy that reads random values at such keys: it goes where random play does not."""
    from engram.envs.atari import AtariGame  # noqa: PLC0415 (an extra)

    agent = MFEC(
        f"engram/{''.join(word.title() for word in name.split('_'))}-v0", capacity=len(keys) // TABLES, seed=ENCODER
    )
    rng = np.random.default_rng(seed)
    for action in range(agent.spaces.actions):
        some = keys[action % TABLES :: TABLES]
        agent.memory.write(action, some, rng.standard_normal(len(some)))
    return play(AtariGame(name), frames, lambda seen: int(agent.predict(seen)[0]), seed)


def spacing(keys: Floats) -> float:
    """The median distance of a key to its nearest neighbour among some others."""
    some = keys[:: max(1, len(keys) // 4000)].astype(np.float64)
    distances = np.sqrt(np.maximum(((some[:100, None] - some[None]) ** 2).sum(2), 0))
    distances[distances == 0] = np.inf
    return float(np.median(distances.min(axis=1)))


def tables_of(keys: Floats, entries: int, seed: int = 1) -> Floats:
    """Six tables of so many entries [6, entries, 128], no key twice.

    Each has every sixth frame. Where there are too few, frames are taken again, each moved in a random direction by the
    median distance of a key to its nearest neighbour, so that tables are as hard to search as with fresh frames.
    """
    rng, apart = np.random.default_rng(seed), spacing(keys)
    tables = np.empty((TABLES, entries, KEYS), np.float32)
    for table in range(TABLES):
        chosen = np.arange(entries) * TABLES + table
        noise = rng.standard_normal((entries, KEYS), np.float32) * np.float32(apart / np.sqrt(KEYS))
        noise[chosen < len(keys)] = 0
        tables[table] = keys[chosen % len(keys)] + noise
    return tables
