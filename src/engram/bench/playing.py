"""MFEC on Pong with full tables of keys of real play, beside the emulator alone with all preprocessing."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np

from engram.agents.mfec import MFEC
from engram.bench.contest import Row, Work, compare, race
from engram.bench.real_keys import ENCODER, FINAL, KEYS, random_play, tables_of
from engram.encoders.projection import SCALE, Projection
from engram.parts import Spaces
from engram.typing import Floats

GROUP = "playing Pong"
EMULATOR = "emulator"
ALE = "ale-py's AtariVectorEnv"
GAME_STEPS = 500
START, STEP = "the start of a game", f"a step of games of {GAME_STEPS} steps"
ASKED = {(10_000, "lru"): 0.5, (10_000, "dkm"): 0.4, (10_000, "fading"): 0.4, (100_000, "lru"): 0.08}


def emulator() -> Work:
    """The game alone, with all preprocessing, under random actions."""
    from engram.envs.atari import AtariGame  # noqa: PLC0415 (an extra)

    game, rng = AtariGame("pong"), np.random.default_rng(0)
    game.reset(seed=0)

    def work(steps: int) -> None:
        for action in rng.integers(6, size=steps).tolist():
            _, _, terminated, truncated, _ = game.step(action)
            if terminated or truncated:
                game.reset()

    return work


def games(seed: int) -> tuple[dict[str, Work], dict[str, Work]]:
    """Beginning a game with a seed, and whole games of so many steps, beside ale-py's own environment."""
    from ale_py.vector_env import AtariVectorEnv  # noqa: PLC0415 (an extra)

    from engram.envs.atari import AtariGame  # noqa: PLC0415 (an extra)

    ours, theirs = AtariGame("pong"), AtariVectorEnv("pong", 1, use_fire_reset=False, reward_clipping=False)
    seeds, noop = count(seed), np.zeros(1, np.int64)

    def begin(game: Any) -> Work:
        def work(times: int) -> None:
            for _ in range(times):
                game.reset(seed=next(seeds))

        return work

    def play(game: Any, action: Any) -> Work:
        def work(steps: int) -> None:
            game.reset(seed=next(seeds))
            for _ in range(steps):
                game.step(action)

        return work

    return {START: begin(ours), ALE: begin(theirs)}, {STEP: play(ours, 0), ALE: play(theirs, noop)}


def full_agent(strategy: str, tables: Floats, seed: int) -> Work:
    """MFEC with these tables, at its final ε: it goes through whole games, and writes at the end of each."""
    agent = MFEC("engram/Pong-v0", strategy=strategy, capacity=tables.shape[1], seed=ENCODER, **FINAL)
    rng = np.random.default_rng(seed)
    for action, keys in enumerate(tables):
        agent.memory.write(action, keys, rng.normal(-1, 0.5, len(keys)), states=np.arange(len(keys)))
    return agent.learn


def projections(seed: int) -> tuple[Work, Work]:
    """The encoder, frame by frame of a game, and the product with a dense matrix that it stands for."""
    from engram.envs.atari import AtariGame  # noqa: PLC0415 (an extra)

    game, rng = AtariGame("pong"), np.random.default_rng(seed)
    frames = [game.reset(seed=seed)[0][None]]
    while len(frames) < 500:
        frames.append(game.step(int(rng.integers(6)))[0][None])
    encode = Projection(KEYS).build(Spaces(frames[0].shape[1:], np.dtype(np.uint8), 1), np.random.default_rng(0))
    dense = np.rint(np.random.default_rng(0).standard_normal((frames[0].size, KEYS)) * SCALE).astype(np.float32)

    def project(count: int) -> None:
        for i in range(count):
            encode(frames[i % len(frames)])

    def multiply(count: int) -> None:
        for i in range(count):
            frames[i % len(frames)].reshape(1, -1).astype(np.float32) @ dense

    return project, multiply


def rows(*, quick: bool, seed: int, rounds: int) -> Iterator[Row]:
    """The game, and the projection of a frame; each strategy at 10,000 entries, and LRU at 100,000."""
    for alone, often in zip(games(seed), (3, GAME_STEPS), strict=True):
        name, peer = alone
        yield compare(race(alone, dict.fromkeys(alone, often), rounds), name, peer, group=GROUP, name=name, peer=peer)
    project, multiply = projections(seed)
    pair = {"projection of a frame": project, "dense product": multiply}
    project(1)
    found = race(pair, dict.fromkeys(pair, 100 if quick else 500), rounds)
    yield compare(found, *pair, group=GROUP, name="projection of a frame", peer="dense product")
    keys = random_play("pong", 8_000 if quick else 60_000, seed)
    works = {EMULATOR: emulator()}
    for entries, strategy in ASKED:
        if not (quick and (entries, strategy) != (10_000, "lru")):
            works[f"MFEC {strategy}, N = {entries:,}"] = full_agent(strategy, tables_of(keys, entries), seed)
    counts = dict.fromkeys(works, 200 if quick else 1_500)
    counts |= {name: count // 5 for name, count in counts.items() if "100,000" in name}
    for name, work in works.items():
        work(min(50, counts[name]))
    times = race(works, counts, rounds)
    for (entries, strategy), asked in ASKED.items():
        name = f"MFEC {strategy}, N = {entries:,}"
        if name in works:
            yield compare(times, name, EMULATOR, group=GROUP, name=name, peer=EMULATOR, asked=asked)
