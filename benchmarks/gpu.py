"""What a GPU does for the memory and for the agents: `python benchmarks/gpu.py OUT.json`, on one; some minutes.

The search of a full memory beside a matrix product with top-k in plain PyTorch, and beside the time that reading the
keys once takes; its neighbours checked against the CPU's. Then acting and learning on Pong, of MFEC and NEC with 10⁵
entries for each of its 6 actions and for each of all 18, beside the same two, and of D3QN. NEC and D3QN do the same
work twice: recorded as CUDA graphs, and launched operation by operation.

Observations are those of random play. Entries are not: keys and values are normally distributed, since filling such a
memory by playing would take hours. The file is written after every row.
"""

import json
import sys
from array import array
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
from engram.recording import Recorded
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
REPLAY = 20_000  # observations
BATCH = 32


def microseconds(work: Callable[[], object], repeats: int = 50) -> float:
    """The median time of a piece of work, the device's included."""
    return quantiles(work, repeats)[0]


def quantiles(work: Callable[[], object], repeats: int = 300) -> list[float]:
    """The median time of a piece of work, the device's included, and those that 5 and 95 in 100 are below."""
    times = []
    for _ in range(repeats + 5):
        torch.cuda.synchronize()
        begin = perf_counter()
        work()
        torch.cuda.synchronize()
        times.append(perf_counter() - begin)
    return [float(time) for time in np.percentile(times[5:], (50, 5, 95)) * 1e6]


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


GREEDY: dict[str, Any] = {"device": DEVICE, "seed": 0, "epsilon_initial": 0.0, "epsilon_final": 0.0}


def measure_mfec(game: str, strategy: str) -> dict[str, Any]:
    """Acting; and writing an episode of play whose actions are random, so that it goes into all tables."""
    agent = MFEC(game, capacity=CAPACITY, strategy=strategy, **GREEDY)
    fill(agent.memory)
    seen, rng, times = cycle(observations(game)), np.random.default_rng(3), []
    row = {
        "agent": agent.name,
        "strategy": strategy,
        "env": game,
        "setting": [agent.memory.actions, CAPACITY, agent.memory.key_size, agent.memory.neighbours],
        "act_us": microseconds(lambda: agent.act(next(seen), 1), 100),
        "encode_us": microseconds(lambda: agent.encoder(next(seen)[None]), 100),
        **peers(agent.memory),
    }
    agent.forget_episode()
    for _ in range(4):
        for _ in range(EPISODE):
            agent.act(next(seen), 1)
        agent.unfinished.actions[:] = array("q", rng.integers(agent.memory.actions, size=EPISODE).tolist())
        agent.unfinished.rewards.extend([0.0] * (EPISODE - 1))
        torch.cuda.synchronize()
        start = perf_counter()
        agent.observe(1.0, next(seen), True, False)
        torch.cuda.synchronize()
        times.append(perf_counter() - start)
    return row | {"write_per_state_us": float(np.median(times[1:]) / EPISODE * 1e6)}


def measure_nec(game: str, *, graphs: bool) -> dict[str, Any]:
    agent = NEC(game, capacity=CAPACITY, neighbours=50, key_size=128, replay_size=REPLAY, **GREEDY)
    fill(agent.memory)
    for observation in observations(game):
        agent.replay.add(observation, int(agent.policy_rng.integers(agent.memory.actions)))
    agent.replay.finish(np.zeros(len(observations(game)), np.float32))
    row = measure_learner(agent, game, graphs=graphs)
    setting = [agent.memory.actions, CAPACITY, agent.memory.key_size, agent.memory.neighbours]
    return row | {"setting": setting, **peers(agent.memory)}


def measure_d3qn(game: str, *, graphs: bool) -> dict[str, Any]:
    agent = D3QN(game, feature_size=128, replay_size=REPLAY, **GREEDY)
    first, *rest = observations(game)
    agent.replay.begin(first)
    for observation in rest:
        agent.replay.add(int(agent.policy_rng.integers(agent.spaces.actions)), 0.0, observation)
    return measure_learner(agent, game, graphs=graphs)


def measure_learner(agent: Any, game: str, *, graphs: bool) -> dict[str, Any]:
    """Acting, from an observation to an action, and a learning step, from drawing a batch to the new weights."""
    seen, rng = cycle(observations(game)), np.random.default_rng(4)
    return {
        "agent": agent.name,
        "env": game,
        "graphs": graphs,
        "act_us": quantiles(lambda: agent.act(next(seen), 1)),
        f"learn_from_batch_{BATCH}_us": quantiles(lambda: agent.learn_batch(agent.replay.sample(rng, BATCH))),
        "of_it_drawing_us": quantiles(lambda: agent.replay.sample(rng, BATCH)),
    }


def main() -> None:
    name = torch.cuda.get_device_name(0)
    results: dict[str, Any] = {"device": name, "torch": torch.__version__, "search": [], "agents": []}
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "gpu.json")

    def keep(part: str, row: dict[str, Any]) -> None:
        results[part].append(row)
        print(json.dumps(row), flush=True)
        path.write_text(json.dumps(results, indent=1) + "\n")

    for graphs in (False, True, False, True):  # in turn, twice
        Recorded.graphs = graphs
        for game in GAMES:
            keep("agents", measure_nec(game, graphs=graphs))
        keep("agents", measure_d3qn(GAMES[0], graphs=graphs))
    for game in GAMES:
        for strategy in ("lru", "dkm"):
            keep("agents", measure_mfec(game, strategy))
    for setting in SETTINGS:
        keep("search", measure_search(*setting))


if __name__ == "__main__":
    main()
