"""Steps of training per second, beside the bare environment and beside Stable-Baselines3's DQN, in one run.

Every agent learns at the final ε on full tables, without evaluation, on one core. NEC, D3QN and Stable-Baselines3's
DQN have the same batch size (32), train frequency (every 4 steps) and network width (layers of 64).
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium
import torch
import tyro
from rich.console import Console
from rich.table import Table
from stable_baselines3 import DQN

from engram import D3QN, MFEC, NEC

torch.set_num_threads(1)

STRATEGIES = ("lru", "rew", "sur", "kmeans", "dkm", "fading")
CAPACITIES = (50, 500, 5000)
ROUNDS = 5


@dataclass(frozen=True)
class Row:
    """One agent's speed beside the two others', medians over rounds in which all were measured."""

    name: str
    steps_per_second: float
    share_of_bare: float
    times_sb3: float


def steps_per_second(work: Callable[[int], object], steps: int) -> float:
    begin = perf_counter()
    work(steps)
    return steps / (perf_counter() - begin)


def bare_environment(env_id: str) -> Callable[[int], None]:
    """The environment under fixed alternating actions, reset whenever it ends."""
    env = gymnasium.make(env_id)
    env.reset(seed=0)

    def work(steps: int) -> None:
        for i in range(steps):
            _, _, terminated, truncated, _ = env.step(i % 2)
            if terminated or truncated:
                env.reset()

    return work


def sb3_dqn(env_id: str) -> Callable[[int], object]:
    """DQN at the batch size, train frequency and network width of the paper's agents."""
    agent = DQN("MlpPolicy", env_id, batch_size=32, train_freq=4, learning_starts=100, device="cpu", seed=0)
    agent.learn(500)
    return lambda steps: agent.learn(steps, reset_num_timesteps=False)


def full(agent: MFEC | NEC) -> Callable[[int], object]:
    """An agent trained until every table is full and, where it has a network, learning."""
    start = agent.config.learning_start_steps if isinstance(agent, NEC) else 0
    while (agent.memory.size < agent.memory.capacity).any() or agent.steps < start:
        agent.learn(1000)
    return agent.learn


def agents_to_measure(env: str, seed: int) -> dict[str, Callable[[int], object]]:
    """Every agent by name, warmed up, at its final ε from the start."""
    final: dict[str, Any] = {"epsilon_initial": 5e-3, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 0}
    agents: dict[str, Callable[[int], object]] = {
        f"MFEC {strategy}, N = {capacity}": full(MFEC(env, strategy=strategy, capacity=capacity, seed=seed, **final))
        for capacity in CAPACITIES
        for strategy in STRATEGIES
    }
    for strategy in STRATEGIES:
        agents[f"NEC {strategy}, N = 500"] = full(NEC(env, strategy=strategy, capacity=500, seed=seed, **final))
    agents["D3QN"] = D3QN(env, seed=seed, learning_start_steps=100, **final).learn(500).learn
    return agents


def main(env: str = "CartPole-v1", seed: int = 0, steps: int = 10_000, rounds: int = ROUNDS) -> list[Row]:
    """Measure every agent beside the bare environment and SB3.

    Args:
        env: Id of the environment.
        seed: Of the agents.
        steps: Of MFEC and the bare environment per round; a fifth of it for the others.
        rounds: In each of which everything is measured once; medians are reported.
    """
    bare, sb3 = bare_environment(env), sb3_dqn(env)
    agents = agents_to_measure(env, seed)
    speeds: dict[str, list[float]] = {name: [] for name in ("bare", "sb3", *agents)}
    for _ in range(rounds):
        speeds["bare"].append(steps_per_second(bare, steps))
        speeds["sb3"].append(steps_per_second(sb3, max(steps // 5, 500)))
        for name, agent in agents.items():
            share = 1 if name.startswith("MFEC") else 5
            speeds[name].append(steps_per_second(agent, max(steps // share, 500)))
    medians = {name: median(values) for name, values in speeds.items()}
    rows = [
        Row(name, medians[name], medians[name] / medians["bare"], medians[name] / medians["sb3"]) for name in agents
    ]
    table = Table(title=f"Training on {env}, one core, median of {rounds} rounds")
    for column in ("agent", "steps/s", "÷ bare environment", "÷ SB3 DQN"):
        table.add_column(column, justify="left" if column == "agent" else "right")
    table.add_row("bare environment", f"{medians['bare']:,.0f}", "1.000", f"{medians['bare'] / medians['sb3']:.1f}")
    table.add_row(
        "SB3 DQN, batch 32, every 4",
        f"{medians['sb3']:,.0f}",
        f"{medians['sb3'] / medians['bare']:.3f}",
        "1.0",
    )
    for row in rows:
        table.add_row(row.name, f"{row.steps_per_second:,.0f}", f"{row.share_of_bare:.3f}", f"{row.times_sb3:.1f}")
    Console().print(table)
    return rows


if __name__ == "__main__":
    tyro.cli(main)
