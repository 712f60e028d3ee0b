"""How long the runs of Table 3 that need a GPU take, on one: `python benchmarks/hours.py OUT.json`, six minutes.

NEC with 10⁴ and with 10⁵ entries for each action, and D3QN, all on Pong with the paper's settings at their final ε, in
one process and in several that share the GPU. Each trains for a while in the loop that users' agents train in, learning
every four steps, and then plays evaluations. Memories are full of normally distributed entries, since filling them by
playing would take the hours that are asked for. `tools/atari_hours.py` makes hours of these times.
"""

import json
import sys
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

import gpu
import torch

from engram import D3QN, NEC, evaluate_policy
from engram.agents import find_agent

GAME = "engram/Pong-v0"
WORK = (("nec", 10_000), ("nec", 100_000), ("d3qn", None))
PROCESSES = (1, 14)
TRAINED_SECONDS, WARM_STEPS, CHUNK_STEPS = 25.0, 600, 500
EVALUATED_GAMES, EVALUATED_STEPS = 10, 150
LEARNING_START_STEPS = 400


def agent_of(name: str, capacity: int | None, seed: int) -> NEC | D3QN:
    """An agent with the paper's settings, at its final ε, with a full memory."""
    settings = find_agent(name).Config.preset_for("atari") | {
        "device": gpu.DEVICE,
        "seed": seed,
        "epsilon_anneal_start_steps": 0,
        "epsilon_anneal_end_steps": 0,
        "learning_start_steps": LEARNING_START_STEPS,
    }
    if capacity is None:
        return D3QN(GAME, **settings)
    agent = NEC(GAME, capacity=capacity, **settings)
    gpu.fill(agent.memory)
    return agent


def work(name: str, capacity: int | None, seed: int, together: Barrier) -> tuple[float, float]:
    """Microseconds for a step of training and for one of evaluation, while the others do the same."""
    torch.set_num_threads(1)
    agent = agent_of(name, capacity, seed)
    agent.learn(WARM_STEPS)
    together.wait()
    begin, steps = perf_counter(), 0
    while perf_counter() - begin < TRAINED_SECONDS:
        agent.learn(CHUNK_STEPS)
        steps += CHUNK_STEPS
    trained = (perf_counter() - begin) / steps
    evaluate_policy(agent, GAME, n_eval_episodes=EVALUATED_GAMES, max_steps=10)
    together.wait()
    begin = perf_counter()
    evaluate_policy(agent, GAME, n_eval_episodes=EVALUATED_GAMES, max_steps=EVALUATED_STEPS)
    return trained * 1e6, (perf_counter() - begin) / (EVALUATED_GAMES * EVALUATED_STEPS) * 1e6


def worker(name: str, capacity: int | None, seed: int, together: Barrier, answers: Any) -> None:
    answers.put(work(name, capacity, seed, together))


def measure(name: str, capacity: int | None, processes: int) -> dict[str, Any]:
    """So many processes at once."""
    context = get_context("spawn")
    together, answers = context.Barrier(processes), context.Queue()
    workers = [
        context.Process(target=worker, args=(name, capacity, seed, together, answers)) for seed in range(processes)
    ]
    for each in workers:
        each.start()
    times = [answers.get(timeout=300) for _ in workers]
    for each in workers:
        each.join()
    trained, evaluated = (mean(some) for some in zip(*times, strict=True))
    return {
        "agent": name,
        "capacity": capacity,
        "processes": processes,
        "training_step_us": trained,
        "evaluation_step_us": evaluated,
    }


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "hours.json")
    found: dict[str, Any] = {"device": torch.cuda.get_device_name(0), "torch": torch.__version__, "rows": []}
    for processes in PROCESSES:
        for name, capacity in WORK:
            found["rows"].append(measure(name, capacity, processes))
            print(json.dumps(found["rows"][-1]), flush=True)
            path.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
