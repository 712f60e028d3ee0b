"""What a GPU does for the memory and for the agents: `python benchmarks/gpu.py OUT.json`, on one; about two minutes.

The search of a full memory beside a matrix product with top-k in plain PyTorch, and beside the time that reading the
keys once takes; its neighbours checked against the CPU's. Then acting and learning of MFEC and NEC on Pong with 10⁵
entries for each of its 6 actions and for each of all 18, beside the same two; and D3QN on Pong, for a short run.

Observations are those of random play. Entries are not: keys and values are normally distributed, since filling such a
memory by playing would take hours. The file is written after every row.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from engram import D3QN, MFEC, NEC, EpisodicMemory
from engram.envs.make import make_by_id
from engram.replay.returns import ReturnBatch
from engram.typing import Array, Floats

DEVICE = "cuda"
SETTINGS = (
    (2, 500, 64, 11),
    (6, 10_000, 128, 11),
    (6, 100_000, 128, 11),
    (6, 100_000, 128, 50),
    (18, 100_000, 128, 11),
    (18, 100_000, 128, 50),
)
GAMES = ("pong", "pong?full_action_space=true")
CAPACITY = 100_000  # of the agents' memories
EPISODE = 200  # steps
BATCH = 32


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


@cache
def all_keys() -> Floats:
    """Normally distributed keys, enough for every memory here."""
    shape = np.max([setting[:3] for setting in SETTINGS], axis=0)
    return np.random.default_rng(0).standard_normal(tuple(shape), np.float32)


def fill(memory: EpisodicMemory) -> None:
    """Fill every table; the same memory on every device. As `load_state_dict`, without its checks of every entry."""
    store, capacity = memory._store, memory.capacity
    tables = store.new_tables(memory.actions, 0)
    tables.values[:] = np.random.default_rng(1).standard_normal(tables.values.shape)
    tables.states[:] = np.arange(capacity)
    # the time of last use for LRU; for DkM N q n, where all n are 1
    tables.ranks[:] = np.arange(capacity) if memory.strategy.name == "lru" else capacity
    for action in range(memory.actions):
        store.fill(tables, action, np.ascontiguousarray(all_keys()[action, :capacity, : memory.key_size]))
    tables.size[:] = tables.clock[:] = capacity
    store.take(tables)


def peers(memory: EpisodicMemory) -> dict[str, float]:
    """What else could be done with the same keys and one query."""
    keys = torch.from_numpy(all_keys()[: memory.actions, : memory.capacity, : memory.key_size]).to(DEVICE).contiguous()
    one = torch.from_numpy(np.random.default_rng(2).standard_normal(memory.key_size, np.float32)).to(DEVICE)
    norms = keys.square().sum(-1)

    def matmul() -> torch.Tensor:
        """‖x‖² − 2 x·q orders as the distance does, up to rounding."""
        return (norms - 2 * (keys @ one)).topk(memory.neighbours, largest=False).indices

    return {"matmul_topk_us": microseconds(matmul), "reading_the_keys_once_us": microseconds(keys.sum)}


def measure_search(actions: int, capacity: int, dims: int, k: int) -> dict[str, Any]:
    ours, theirs = (
        EpisodicMemory(actions=actions, key_size=dims, capacity=capacity, neighbours=k, device=device)
        for device in (DEVICE, "cpu")
    )
    for memory in (ours, theirs):
        fill(memory)
    queries = np.random.default_rng(2).standard_normal((BATCH, dims), np.float32)
    batch, one = (torch.from_numpy(some).to(DEVICE) for some in (queries, queries[:1]))
    same, apart = [], []
    for action in range(actions):
        (slots, d2), (their_slots, their_d2) = (
            memory.find_neighbours(action, queries[:16]) for memory in (ours, theirs)
        )
        same.append(float((slots == their_slots).mean()))
        apart.append(float(np.abs(d2 / their_d2 - 1).max()))
    taken = np.arange(BATCH) % actions
    store: Any = ours._store
    return {
        "setting": [actions, capacity, dims, k],
        "search": type(getattr(store, "_search", store)).__name__,
        "read_us": microseconds(lambda: ours.read(one)),
        "read_and_touch_us": microseconds(lambda: ours.read(one, touch=True)),
        f"look_up_batch_{BATCH}_us": microseconds(lambda: ours.look_up(taken, batch)),
        **peers(ours),
        "cpu_read_us": microseconds(lambda: theirs.read(queries[:1]), 10),
        "same_slots_as_cpu": min(same),
        "largest_relative_difference_of_distances": max(apart),
    }


@cache
def observations(game: str) -> list[Array]:
    """Four episodes' worth of random play."""
    env, rng = make_by_id(game), np.random.default_rng(0)
    seen = [env.reset(seed=0)[0]]
    while len(seen) < 4 * EPISODE:
        observation, _, terminated, truncated, _ = env.step(rng.integers(env.action_space.n))  # type: ignore[attr-defined]
        seen.append(env.reset()[0] if terminated or truncated else observation)
    return seen


def full_agent(kind: type[MFEC | NEC], game: str, **settings: Any) -> Any:
    """An agent that never explores, with a full memory."""
    greedy: dict[str, Any] = {"device": DEVICE, "epsilon_initial": 0.0, "epsilon_final": 0.0}
    agent = kind(game, seed=0, capacity=CAPACITY, **greedy, **settings)
    fill(agent.memory)
    return agent


def measure_acting(agent: Any, game: str) -> dict[str, Any]:
    """The time of one `act`: encode an observation, read all tables, note what was used."""
    seen = cycle(observations(game))
    row = {
        "agent": agent.name,
        "strategy": agent.memory.strategy.name,
        "env": game,
        "setting": [agent.memory.actions, agent.memory.capacity, agent.memory.key_size, agent.memory.neighbours],
        "act_us": microseconds(lambda: agent.act(next(seen), 1), 100),
        "encode_us": microseconds(lambda: agent.encoder(next(seen)[None]), 100),
        **peers(agent.memory),
    }
    agent._forget_episode()
    return row


def measure_mfec(game: str, strategy: str) -> dict[str, Any]:
    agent = full_agent(MFEC, game, strategy=strategy)
    row = measure_acting(agent, game)
    seen, rng, times = observations(game), np.random.default_rng(3), []
    for begin in range(0, len(seen), EPISODE):
        episode = seen[begin : begin + EPISODE]
        for observation in episode:
            agent.act(observation, 1)
        agent._actions[:] = rng.integers(agent.memory.actions, size=EPISODE).tolist()  # into all tables
        agent._rewards[:] = [0.0] * (EPISODE - 1)
        torch.cuda.synchronize()
        start = perf_counter()
        agent.observe(1.0, episode[-1], True, False)
        torch.cuda.synchronize()
        times.append(perf_counter() - start)
    return row | {"write_per_state_us": float(np.median(times[1:]) / EPISODE * 1e6)}


def measure_nec(game: str) -> dict[str, Any]:
    agent = full_agent(NEC, game, neighbours=50, key_size=128, replay_size=1_000)
    row = measure_acting(agent, game)
    images = np.stack(observations(game)[:BATCH])
    batch = ReturnBatch(images, np.arange(BATCH) % agent.memory.actions, np.zeros(BATCH, np.float32))
    return row | {f"learn_from_batch_{BATCH}_us": microseconds(lambda: agent.learn_from(batch))}


def measure_d3qn(game: str, steps: int, **settings: Any) -> dict[str, Any]:
    """A short run, learning steps timed as they come."""
    annealed: dict[str, Any] = {"device": DEVICE, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 1}
    agent: Any = D3QN(game, seed=0, **annealed, **settings)
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
    seen = cycle(observations(game))
    return {
        "agent": agent.name,
        "env": game,
        "steps": steps,
        "steps_per_second": steps / seconds,
        "act_us": microseconds(lambda: agent.predict(next(seen)), 100),
        "learning_step_us": float(np.median(learned) * 1e6),
        "learning_steps": len(learned),
    }


def main() -> None:
    name = torch.cuda.get_device_name(0)
    results: dict[str, Any] = {"device": name, "torch": torch.__version__, "search": [], "agents": []}
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "gpu.json")

    def keep(part: str, row: dict[str, Any]) -> None:
        results[part].append(row)
        print(json.dumps(row), flush=True)
        path.write_text(json.dumps(results, indent=1) + "\n")

    for setting in SETTINGS:
        keep("search", measure_search(*setting))
    for game in GAMES:
        for strategy in ("lru", "dkm"):
            keep("agents", measure_mfec(game, strategy))
        keep("agents", measure_nec(game))
    keep("agents", measure_d3qn("pong", 4_000, learning_start_steps=2_000, replay_size=10_000, feature_size=128))


if __name__ == "__main__":
    main()
