"""MFEC on Pong with full tables beside the emulator alone and beside FAISS; the projection beside a dense product.

    python benchmarks/atari.py [--steps 2000] [--rounds 5] [--entries 10000 100000] [--frames 60000]

One core. The emulator alone is ale-py with all preprocessing (skipped and stacked frames, 84 × 84, grey) under random
actions. Tables are filled with keys of real frames from random play, in order of time. Where there are more entries
than frames were played, frames are taken again, each moved in a random direction by the median distance of a frame's
key to its nearest neighbour, so that the tables are as hard to search as tables of fresh frames. Then the agent learns
at the final ε. "FAISS" is the same agent that reads by one flat search per table; its indexes are not kept up to date
with what is written, which favours it. The last line is the resident memory of 18 tables of 10⁵ entries beside the
arithmetic.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import faiss
import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from engram import MFEC, EpisodicMemory
from engram.encoders.projection import SCALE, Projection
from engram.envs.atari import AtariGame
from engram.parts import Spaces
from engram.typing import Array, Floats

FINAL: dict[str, Any] = {"epsilon_initial": 5e-3, "epsilon_anneal_start_steps": 0, "epsilon_anneal_end_steps": 0}
KEYS = 128


def play(frames: int) -> Iterator[Array]:
    """Observations of random play."""
    game, rng = AtariGame("pong"), np.random.default_rng(0)
    observation, _ = game.reset(seed=0)
    for count in range(frames):
        yield observation
        observation, _, terminated, truncated, _ = game.step(int(rng.integers(6)))
        if terminated or truncated:
            observation, _ = game.reset(seed=count)


def rate(work: Callable[[int], object], steps: int) -> float:
    begin = perf_counter()
    work(steps)
    return steps / (perf_counter() - begin)


def emulator() -> Callable[[int], None]:
    """The game alone, with all preprocessing."""
    game, rng = AtariGame("pong"), np.random.default_rng(0)
    game.reset(seed=0)

    def work(steps: int) -> None:
        for action in rng.integers(6, size=steps).tolist():
            _, _, terminated, truncated, _ = game.step(action)
            if terminated or truncated:
                game.reset()

    return work


def spacing(keys: Floats) -> float:
    """The median distance of a key to its nearest neighbour among the others."""
    index = faiss.IndexFlatL2(KEYS)
    index.add(keys)
    distances, _ = index.search(keys[:: len(keys) // 200], 2)
    return float(np.sqrt(np.median(distances[:, 1])))


def full_agent(strategy: str, entries: int, keys: Floats) -> MFEC:
    """MFEC with every table full of such keys, and no key twice."""
    agent = MFEC("engram/Pong-v0", strategy=strategy, capacity=entries, seed=0, **FINAL)
    rng, apart = np.random.default_rng(1), spacing(keys)
    for action in range(6):
        chosen = np.arange(entries) * 6 + action
        noise = rng.standard_normal((entries, KEYS), np.float32) * np.float32(apart / np.sqrt(KEYS))
        noise[chosen < len(keys)] = 0
        values = rng.normal(-1, 0.5, entries).astype(np.float32)
        agent.memory.write(action, keys[chosen % len(keys)] + noise, values, states=chosen)
    assert (agent.memory.size == entries).all()
    return agent


def on_faiss(agent: MFEC) -> MFEC:
    """The agent with FAISS in the place of its own search."""
    memory = agent.memory
    indexes, values = [], []
    for action in range(memory.actions):
        entries = memory.entries(action)
        index = faiss.IndexFlatL2(memory.key_size)
        index.add(entries["keys"])
        indexes.append(index)
        values.append(entries["values"])

    def read(keys: Any, *, touch: bool = False) -> Floats:
        q = np.empty((len(keys), memory.actions), np.float32)
        for action, index in enumerate(indexes):
            distances, slots = index.search(keys, memory.neighbours)
            weights = 1 / (distances + memory.delta)
            q[:, action] = (weights * values[action][slots]).sum(1) / weights.sum(1)
        return q

    memory.read = read  # type: ignore[method-assign]
    return agent


def projection_row(frames: Array) -> tuple[float, float, bool]:
    """Microseconds of a dense product and of the projection per frame, and whether their keys are equal."""
    project = Projection(KEYS).build(Spaces(frames.shape[1:], np.dtype(np.uint8), 1), np.random.default_rng(0))
    weights = np.rint(np.random.default_rng(0).standard_normal((frames[0].size, KEYS)) * SCALE)
    dense, flat = weights.astype(np.float32), frames.reshape(len(frames), -1)
    project(frames[:1])
    times: dict[str, list[float]] = {"dense": [], "ours": []}
    for _ in range(3):
        begin = perf_counter()
        for image in flat[:200]:
            image.astype(np.float32) @ dense
        times["dense"].append((perf_counter() - begin) / 200)
        begin = perf_counter()
        for frame in frames[:2000]:
            project(frame[None])
        times["ours"].append((perf_counter() - begin) / len(frames[:2000]))
    exact = flat[:100].astype(np.int64) @ weights.astype(np.int64)
    expected = (exact * (1 / (255 * SCALE * np.sqrt(KEYS)))).astype(np.float32)
    return (
        1e6 * median(times["dense"]),
        1e6 * median(times["ours"]),
        bool(np.array_equal(project(frames[:100]), expected)),
    )


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill(memory: EpisodicMemory) -> None:
    """Fill every table with keys that are normally distributed."""
    rng, some = np.random.default_rng(0), memory.capacity // 10
    for action in range(memory.actions):
        for _ in range(10):
            memory.write(action, rng.standard_normal((some, KEYS), np.float32), np.zeros(some))
    assert (memory.size == memory.capacity).all()


def memory_row(actions: int = 18, entries: int = 100_000) -> tuple[int, int]:
    """Bytes by arithmetic, 4 d + 107 per entry, and as measured."""
    fill(EpisodicMemory(actions=1, key_size=KEYS, capacity=10_000))  # the kernels and what they need are there
    before = resident()
    memory = EpisodicMemory(actions=actions, key_size=KEYS, capacity=entries)
    fill(memory)
    return actions * entries * (4 * KEYS + 107), resident() - before


class Row(NamedTuple):
    name: str
    steps_per_second: float
    share: float  # of the emulator
    times_faiss: float | None  # the same agent's


class Figures(NamedTuple):
    rows: list[Row]
    projection_us: float
    dense_us: float
    equal: bool  # keys of the projection and of the dense product
    resident_bytes: int  # of 18 × 10⁵ × 128
    arithmetic_bytes: int


def measure(steps: int, rounds: int, entries: tuple[int, ...], frames: int) -> Figures:
    """Everything; of speeds the median of the rounds, in each of which every agent learns once."""
    arithmetic, resident_now = memory_row()
    dense, ours, equal = projection_row(np.array(list(play(2_000))))
    project = Projection(KEYS).build(Spaces((4, 84, 84), np.dtype(np.uint8), 1), np.random.default_rng(0))
    keys = np.concatenate([project(frame[None]) for frame in play(frames)])
    work: dict[str, Callable[[int], object]] = {"emulator with preprocessing": emulator()}
    for size in entries:
        for strategy in ("lru", "dkm", "fading"):
            work[f"MFEC {strategy}, {size:,} entries"] = full_agent(strategy, size, keys).learn
        work[f"MFEC lru on FAISS, {size:,} entries"] = on_faiss(full_agent("lru", size, keys)).learn
    speeds: dict[str, list[float]] = {name: [] for name in work}
    for each in work.values():
        each(50)
    for _ in range(rounds):
        for name, each in work.items():
            count = max(200, steps // 10) if "100,000" in name else steps
            speeds[name].append(rate(each, count))
    medians = {name: median(values) for name, values in speeds.items()}
    rows = []
    for name, speed in medians.items():
        peer = medians.get(f"MFEC lru on FAISS, {name.split(', ')[-1]}")
        rows.append(Row(name, speed, speed / medians["emulator with preprocessing"], speed / peer if peer else None))
    return Figures(rows, ours, dense, equal, resident_now, arithmetic)


def in_words(figures: Figures) -> tuple[str, str]:
    """The projection and the memory, a line each."""
    ratio = figures.dense_us / figures.projection_us
    return (
        f"projection: {figures.projection_us:.1f} µs, dense product {figures.dense_us:.0f} µs, {ratio:.1f} times; "
        f"equal keys: {figures.equal}",
        f"18 × 10⁵ × {KEYS}: {figures.resident_bytes / 2**20:,.0f} MiB resident, "
        f"{figures.resident_bytes / figures.arithmetic_bytes:.3f} of the arithmetic",
    )


def main(
    steps: int = 2_000, rounds: int = 5, entries: tuple[int, ...] = (10_000, 100_000), frames: int = 60_000
) -> Figures:
    """Measure everything, and print it."""
    figures = measure(steps, rounds, entries, frames)
    table = Table(title=f"Pong, one core, median of {rounds} rounds")
    for column in ("", "steps/s", "÷ emulator", "÷ FAISS"):
        table.add_column(column, justify="left" if not column else "right")
    for row in figures.rows:
        peer = "" if row.times_faiss is None else f"{row.times_faiss:.2f}"
        table.add_row(row.name, f"{row.steps_per_second:,.0f}", f"{row.share:.3f}", peer)
    console = Console()
    console.print(table)
    for line in in_words(figures):
        console.print(line)
    return figures


if __name__ == "__main__":
    tyro.cli(main)
