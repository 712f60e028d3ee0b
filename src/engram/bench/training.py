"""Steps of training on CartPole, beside the bare environment and beside the DQNs that people use."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import gymnasium

from engram.agents.d3qn import D3QN
from engram.agents.mfec import MFEC
from engram.agents.nec import NEC
from engram.bench.contest import Row, Work, compare, race

GROUP = "training"
ENV = "CartPole-v1"
FINAL: dict[str, Any] = {"epsilon_initial": 5e-3, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 0}
BARE, SB3, SBX = "bare environment", "SB3 DQN", "SBX DQN"
STRATEGIES = ("lru", "rew", "sur", "kmeans", "dkm", "fading")
ASKED = {
    ("MFEC lru, N = 500", BARE): 0.45,
    ("MFEC lru, N = 5,000", BARE): 0.33,
    ("NEC lru, N = 500", SB3): 5.0,
    ("D3QN", SB3): 8.0,
}


def bare_environment() -> Work:
    """The environment under fixed alternating actions, reset whenever it ends."""
    env = gymnasium.make(ENV)
    env.reset(seed=0)

    def work(steps: int) -> None:
        for i in range(steps):
            _, _, terminated, truncated, _ = env.step(i % 2)
            if terminated or truncated:
                env.reset()

    return work


def peer(library: str) -> Work:
    """DQN at the batch size, train frequency and network width of the paper's agents, while it learns."""
    kind: Any = import_module("stable_baselines3" if library == SB3 else "sbx").DQN
    agent = kind("MlpPolicy", ENV, batch_size=32, train_freq=4, learning_starts=100, seed=0, device="cpu")
    agent.learn(500)
    return lambda steps: agent.learn(steps, reset_num_timesteps=False)


def full(agent: MFEC | NEC) -> Work:
    """An agent trained until every table is full and, where it has a network, learning."""
    start = agent.config.learning_start_steps if isinstance(agent, NEC) else 0
    while (agent.memory.size < agent.memory.capacity).any() or agent.steps < start:
        agent.learn(1000)
    return agent.learn


def agents(*, quick: bool, seed: int) -> Iterator[tuple[str, Work]]:
    """Every agent by name, warmed up, at its final ε from the start."""
    for strategy in STRATEGIES[:1] if quick else STRATEGIES:
        for capacity in (500,) if quick or strategy not in ("lru", "dkm") else (50, 500, 5_000):
            agent = MFEC(ENV, strategy=strategy, capacity=capacity, seed=seed, **FINAL)
            yield f"MFEC {strategy}, N = {capacity:,}", full(agent)
    for strategy in ("lru",) if quick else ("lru", "dkm"):
        yield f"NEC {strategy}, N = 500", full(NEC(ENV, strategy=strategy, capacity=500, seed=seed, **FINAL))
    yield "D3QN", D3QN(ENV, seed=seed, learning_start_steps=100, **FINAL).learn(500).learn


def rows(*, quick: bool, seed: int, rounds: int) -> Iterator[Row]:
    """Every agent beside the bare environment, and beside each peer that is installed."""
    works: dict[str, Work] = {BARE: bare_environment()}
    for library in (SB3, SBX):
        try:
            works[library] = peer(library)
        except ModuleNotFoundError:
            continue
    peers = list(works)
    works |= dict(agents(quick=quick, seed=seed))
    most = 1_000 if quick else 5_000
    counts = {name: most if name == BARE or name.startswith("MFEC") else most // 5 for name in works}
    times = race(works, counts, rounds)
    for name in works:
        if name not in peers:
            for other in peers:
                asked = ASKED.get((name, other))
                if other == BARE or not name.startswith("MFEC") or name == "MFEC lru, N = 500":
                    yield compare(times, name, other, group=GROUP, name=name, peer=other, asked=asked)
