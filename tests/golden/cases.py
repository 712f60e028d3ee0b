"""What every agent does with fixed seeds, as digests that may not change from one version to the next.

`python -m tests.golden.record` writes them down. They are recorded once, before a change that must not show, and
never to make a test pass. Agents with networks were recorded again when their learning was compiled, and `fading` when
its n was no longer computed by an `exp` of NumPy, whose last bits depend on the processor.
"""

import hashlib
import json
import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import engram
from engram import evaluate_policy
from engram.cli import main

STRATEGIES = ("lru", "rew", "sur", "kmeans", "dkm", "fading", "dkm:decay=0.3", "fading:lifetime=20")
SOON: dict[str, Any] = {
    "epsilon_anneal_start_steps": 100,
    "epsilon_anneal_end_steps": 1_000,
}  # greedy steps too
LEARN: dict[str, Any] = {"learning_start_steps": 100, "batch_size": 8, "replay_size": 2_000, "learning_rate": 1e-3}
PONG = "pong?noop_max=5&max_frames=700"  # several games in a few hundred steps
SETTINGS_OF_MFEC: dict[str, dict[str, Any]] = {
    "mean kernel": {"kernel": "mean"},
    "ties to the first": {"ties": "first"},
    "duplicates": {"duplicates": True},
    "episodes merged": {"merging": "episode", "strategy": "dkm"},
}
SETTINGS_OF_D3QN: dict[str, dict[str, Any]] = {
    "plain": {"dueling": False, "double": False},
    "bootstrapping": {"bootstrap_truncated": True, "reward_clip": None},
}


def cases() -> Iterator[tuple[str, str, str, int, dict[str, Any]]]:
    """Name, agent, environment, steps and settings of each."""
    for strategy in STRATEGIES:
        for env, steps, capacity in (("CartPole-v1", 3_000, 50), ("engram/OpenRoom-v0", 2_000, 10), (PONG, 400, 20)):
            memory = {"strategy": strategy, "capacity": capacity, "seed": 3, **SOON}
            yield f"mfec {env} {strategy}", "MFEC", env, steps, memory
            if env == PONG and strategy not in ("lru", "dkm"):
                continue  # a convolutional network takes its time
            yield f"nec {env} {strategy}", "NEC", env, min(steps, 1_500), {**memory, **LEARN}
    for name, settings in SETTINGS_OF_MFEC.items():
        memory = {"capacity": 100, "seed": 5, **SOON, **settings}
        yield f"mfec Acrobot-v1 {name}", "MFEC", "Acrobot-v1", 2_000, memory
    yield "nec CartPole-v1 learns entries", "NEC", "CartPole-v1", 1_500, {"capacity": 50, "learn_memory": True, **LEARN}
    for env, steps in (("CartPole-v1", 1_500), ("engram/OpenRoom-v0", 1_500), (PONG, 300)):
        yield f"d3qn {env}", "D3QN", env, steps, {"target_update_steps": 200, **SOON, **LEARN}
    for name, settings in SETTINGS_OF_D3QN.items():
        yield f"d3qn CartPole-v1 {name}", "D3QN", "CartPole-v1", 1_000, {"seed": 2, **SOON, **LEARN, **settings}


def digest_of_case(agent_name: str, env: str, steps: int, settings: dict[str, Any]) -> str:
    """What a new agent is after some steps of training."""
    return digest_of_agent(getattr(engram, agent_name)(env, **settings).learn(steps), env)


def digest_of_agent(agent: Any, env: str) -> str:
    """Everything that can be seen of an agent from outside: its memory, its values, its actions, its evaluations."""
    digest = hashlib.sha256()

    def add(*arrays: Any) -> None:
        for array in arrays:
            array = np.ascontiguousarray(array)  # noqa: PLW2901
            digest.update(f"{array.dtype.str}{array.shape}".encode() + array.tobytes())

    if hasattr(agent, "memory"):
        for action in range(len(agent.memory.size)):
            entries = agent.memory.entries(action)
            add(*(entries[name] for name in sorted(entries)))
    observations = some_observations(env)
    add(agent.q_values(observations), agent.predict(observations)[0])
    add(*(agent.predict(observations, deterministic=False)[0] for _ in range(3)))
    add(*evaluate_policy(agent, env, 2, return_episode_rewards=True))
    add(agent.steps, agent.loop.episode, agent.loop.total)
    return digest.hexdigest()[:16]


def some_observations(env: str) -> Any:
    """Observations of random play, the same every time."""
    made = engram.MFEC(env, capacity=1).source.make()
    assert isinstance(made, gymnasium.Env)
    made.reset(seed=0)
    made.action_space.seed(0)
    found: list[Any] = []
    while len(found) < 20:
        observation, _, terminated, truncated, _ = made.step(made.action_space.sample())
        found.append(observation)
        if terminated or truncated:
            made.reset()
    made.close()
    return np.stack(found)


def study_words(out: Path) -> list[str]:
    """The command of a small study, MFEC's part of which may run anywhere."""
    grid = ["--agents", "mfec", "--sizes", "20", "50", "--strategies", "lru", "fading", "dkm:decay=0.3"]
    return ["study", "cartpole", *grid, "--seeds", "2", "--steps", "1500", "--jobs", "1", "--out", str(out)]


def carry_out(words: list[str]) -> None:
    """A command that must succeed."""
    assert main(words) == 0


def digests_of_runs(folder: Path) -> dict[str, str]:
    """Of every finished run in a study's folder, by id: its log without metrics, which came later, and its result."""
    found = {}
    for result in sorted(folder.glob("*/result.json")):
        run = result.parent
        content = without_metrics((run / "progress.jsonl").read_bytes()) + result.read_bytes()
        found[run.name] = hashlib.sha256(content).hexdigest()[:16]
    return found


def without_metrics(log: bytes) -> bytes:
    """The lines of a log as they were before there were metrics."""
    entries = [json.loads(line) for line in log.splitlines()]
    for entry in entries:
        entry.pop("metrics", None)
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def machine() -> dict[str, str]:
    """What the bits of a network's arithmetic depend on."""
    import torch  # noqa: PLC0415 (an extra)

    info = Path("/proc/cpuinfo")
    models = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return {
        "cpu": models[0].partition(":")[2].strip() if models else platform.processor(),
        "torch": torch.__version__,
        "threads": "1",
    }


def as_json(content: Any) -> str:
    """As the recorded files have it."""
    return json.dumps(content, indent=1) + "\n"
