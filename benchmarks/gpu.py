"""What a GPU does for the memory and for the agents with networks: `python benchmarks/gpu.py OUT.json`, on one.

The search of a full memory beside a matrix product with top-k in plain PyTorch and beside the time that reading the
keys once takes; its neighbours checked against the CPU's. Then NEC and D3QN on CartPole and on Pong, for a short run:
time per step of acting, and per learning step.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from engram import D3QN, NEC, EpisodicMemory
from engram.agents.base import Agent
from engram.envs.atari import AtariGame

SETTINGS = ((6, 10_000, 128, 11), (6, 100_000, 128, 50), (2, 500, 64, 11))


def microseconds(work: Callable[[], object], repeats: int = 50) -> float:
    """The median time of a piece of work, the device's included."""
    times = []
    for _ in range(repeats + 5):
        torch.cuda.synchronize()
        begin = perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(perf_counter() - begin)
    return float(np.median(times[5:]) * 1e6)


def full_memory(actions: int, capacity: int, dims: int, k: int, device: str) -> EpisodicMemory:
    """A memory full of normally distributed keys, the same on every device."""
    rng = np.random.default_rng(0)
    memory = EpisodicMemory(actions=actions, key_size=dims, capacity=capacity, neighbours=k, device=device)
    total = actions * capacity
    memory.load_state_dict(
        {
            "keys": rng.standard_normal((total, dims), np.float32),
            "values": rng.standard_normal(total, np.float32),
            "states": np.tile(np.arange(capacity, dtype=np.uint64), actions),
            "ranks": np.tile(np.arange(capacity, dtype=np.float64), actions),
            "size": np.full(actions, capacity),
            "writes": np.zeros(actions, np.int64),
            "clock": np.array([capacity]),
            "strategy": {},
        }
    )
    return memory


def measure_search(actions: int, capacity: int, dims: int, k: int) -> dict[str, Any]:
    ours, theirs = (full_memory(actions, capacity, dims, k, device) for device in ("cuda", "cpu"))
    rng = np.random.default_rng(1)
    queries = rng.standard_normal((32, dims), np.float32)
    one = torch.from_numpy(queries[:1]).cuda()
    keys = torch.from_numpy(np.stack([theirs.entries(action)["keys"] for action in range(actions)])).cuda()
    norms = keys.square().sum(-1)

    def matmul() -> torch.Tensor:
        """‖x‖² − 2 x·q orders as the distance does, up to rounding."""
        return (norms - 2 * (keys @ one[0])).topk(k, largest=False).indices

    agree = [
        float((ours.find_neighbours(action, queries)[0] == theirs.find_neighbours(action, queries)[0]).mean())
        for action in range(actions)
    ]
    distances = [
        np.abs(ours.find_neighbours(action, queries)[1] / theirs.find_neighbours(action, queries)[1] - 1).max()
        for action in range(actions)
    ]
    cpu = microseconds(lambda: theirs.read(queries[:1]), 10)
    actions_taken = np.arange(32) % actions
    return {
        "setting": [actions, capacity, dims, k],
        "read_us": microseconds(lambda: ours.read(one)),
        "read_and_touch_us": microseconds(lambda: ours.read(one, touch=True)),
        "matmul_topk_us": microseconds(matmul),
        "reading_the_keys_once_us": microseconds(keys.sum),
        "cpu_read_us": cpu,
        "look_up_batch_32_us": microseconds(lambda: ours.look_up(actions_taken, queries), 10),
        "same_slots_as_cpu": min(agree),
        "largest_relative_difference_of_distances": float(max(distances)),
    }


def pong() -> AtariGame:
    return AtariGame("pong")


def measure_agent(kind: type[Agent], env: Any, steps: int, **settings: Any) -> dict[str, Any]:
    agent: Any = kind(env, seed=0, device="cuda", epsilon_anneal_start_steps=0, epsilon_anneal_end_steps=1, **settings)
    learned: list[float] = []
    learn = agent.learn_from

    def timed(batch: Any) -> None:
        torch.cuda.synchronize()
        begin = perf_counter()
        learn(batch)
        torch.cuda.synchronize()
        learned.append(perf_counter() - begin)

    agent.learn_from = timed
    begin = perf_counter()
    agent.learn(steps)
    seconds = perf_counter() - begin
    observation = agent.loop.observation if agent.loop.observation is not None else agent.source.make().reset()[0]
    name = env if isinstance(env, str) else env.__name__
    row = {"agent": agent.name, "env": name, "steps": steps, "steps_per_second": steps / seconds}
    row["act_us"] = microseconds(lambda: agent.predict(observation), 100)
    row["learning_step_us"] = float(np.median(learned) * 1e6) if learned else None
    row["learning_steps"] = len(learned)
    row["episodes"] = agent.loop.episode
    if hasattr(agent, "memory"):
        row["memory_size"] = agent.memory.size.tolist()
    return row


def main() -> None:
    device = torch.cuda.get_device_name(0)
    results: dict[str, Any] = {"device": device, "torch": torch.__version__, "search": [], "agents": []}
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "gpu.json")

    def keep(part: str, row: dict[str, Any]) -> None:
        results[part].append(row)
        print(json.dumps(row), flush=True)
        path.write_text(json.dumps(results, indent=1) + "\n")

    for setting in SETTINGS:
        keep("search", measure_search(*setting))
    atari: dict[str, Any] = {"capacity": 10_000, "neighbours": 50, "key_size": 128, "replay_size": 10_000}
    keep("agents", measure_agent(NEC, "CartPole-v1", 3_000, capacity=500))
    keep("agents", measure_agent(D3QN, "CartPole-v1", 3_000, learning_start_steps=1_000))
    keep("agents", measure_agent(NEC, pong, 6_000, learning_start_steps=4_000, **atari))
    keep("agents", measure_agent(D3QN, pong, 6_000, learning_start_steps=2_000, replay_size=10_000, feature_size=128))


if __name__ == "__main__":
    main()
