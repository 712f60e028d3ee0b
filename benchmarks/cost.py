"""What a read, a write and a run cost as they grow: `python benchmarks/cost.py results/cost.json docs/cost`.

A curve each for the number of entries, of dimensions, of actions, of queries at once and of runs at once; reads beside
FAISS's flat index where that is installed. Takes about six minutes on two cores.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from engram import MFEC
from engram.bench.contest import Work, count_for, race
from engram.bench.reading import each, flat, memory_of
from engram.bench.real_keys import random_play, tables_of
from engram.bench.speeds import describe_machine
from engram.lab.pages.style import COLOURS
from engram.memory import EpisodicMemory
from engram.pictures.canvas import STYLE, Figure, mpl, save
from engram.typing import Floats

ROUNDS, SECONDS = 9, 0.05  # of each contender in each round
NEIGHBOURS = 11
OURS, FLAT = "Engram", "FAISS flat"


class Point(NamedTuple):
    """One point of a curve."""

    panel: str
    curve: str
    x: float
    y: float  # microseconds, or steps a second


def normal(*shape: int) -> Floats:
    """Normally distributed numbers."""
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def measure(panel: str, x: float, works: dict[str, Work], per: int = 1) -> Iterator[Point]:
    """The median time of each kind of work, in turn."""
    for work in works.values():
        work(3)  # kernels are compiled
    times = race(works, {name: count_for(work, SECONDS) for name, work in works.items()}, ROUNDS)
    for name, seconds in times.items():
        yield Point(panel, name, x, 1e6 * float(np.median(seconds)) / per)


def reads(panel: str, x: float, tables: Floats, queries: Floats, suffix: str = "") -> Iterator[Point]:
    """One query in all tables, by Engram and by FAISS."""
    memory = memory_of(tables, NEIGHBOURS, np.random.default_rng(0))
    works = {OURS + suffix: each(queries, memory.read)}
    with suppress(ModuleNotFoundError):
        works[FLAT + suffix] = each(queries, flat(tables, NEIGHBOURS))
    yield from measure(panel, x, works)


def by_entries() -> Iterator[Point]:
    """Narrow keys, and wide ones of real play."""
    panel = "a read, by entries"
    for entries in (50, 200, 500, 2_000, 5_000, 20_000, 100_000):
        yield from reads(panel, entries, normal(2, entries, 4), normal(64, 4), ", 2 × N × 4")
    keys, queries = random_play("pong", 30_000, 0), random_play("pong", 1_000, 1_000)[::20]
    for entries in (1_000, 3_000, 10_000, 30_000, 100_000):
        yield from reads(panel, entries, tables_of(keys, entries), queries, ", 6 × N × 128, Pong")


def by_dimensions() -> Iterator[Point]:
    """Tables of 5,000 entries."""
    for dims in (2, 4, 8, 16, 32, 64, 96, 128, 256):
        yield from reads("a read of 2 × 5,000 × d, by dimensions", dims, normal(2, 5_000, dims), normal(64, dims))


def by_actions() -> Iterator[Point]:
    """As many tables as actions."""
    for actions in (2, 3, 6, 9, 18):
        yield from reads("a read of A × 5,000 × 6, by actions", actions, normal(actions, 5_000, 6), normal(64, 6))


def by_batch() -> Iterator[Point]:
    """Several queries in one call."""
    memory = memory_of(normal(2, 500, 4), NEIGHBOURS, np.random.default_rng(0))
    queries = normal(1_024, 4)
    for batch in (1, 4, 16, 64, 256, 1_024):
        work = {OURS: repeated(memory, queries[:batch].copy())}
        yield from measure("a query of 2 × 500 × 4, by queries in a call", batch, work, per=batch)


def by_strategy() -> Iterator[Point]:
    """States written to full tables of keys of real play, a hundred in a call."""
    keys, more = random_play("pong", 30_000, 0), random_play("pong", 3_000, 1_000)
    for entries in (1_000, 3_000, 10_000, 30_000, 100_000):
        table = tables_of(keys, entries)[0]
        works = {strategy: writing(strategy, table, more) for strategy in ("lru", "kmeans", "dkm", "fading")}
        yield from measure("a write to N × 128, by entries", entries, works, per=100)


def repeated(memory: EpisodicMemory, queries: Floats) -> Work:
    """Work that reads the same batch each time."""

    def work(count: int) -> None:
        for _ in range(count):
            memory.read(queries)

    return work


def writing(strategy: str, table: Floats, keys: Floats) -> Work:
    """Work that writes a hundred new states to a full table."""
    memory = EpisodicMemory(actions=1, key_size=table.shape[1], capacity=len(table), strategy=strategy)
    memory.write(0, table, np.zeros(len(table)), states=np.arange(len(table)), episode_return=0.0)
    position = 0

    def work(count: int) -> None:
        nonlocal position
        for _ in range(count):
            first = 100 * position % (len(keys) - 100)
            states = np.arange(100) + len(table) + 100 * position
            memory.write(0, keys[first : first + 100], np.zeros(100), states=states, episode_return=0.0)
            position += 1

    return work


def train(ready: Any, go: Any, done: Any, steps: int, seed: int) -> None:
    """One run of several at once."""
    agent = MFEC("CartPole-v1", capacity=500, seed=seed).learn(5_000)
    ready.release()
    go.wait()
    agent.learn(steps)
    done.release()


def by_runs(steps: int = 40_000) -> Iterator[Point]:
    """MFEC on CartPole in as many processes."""
    context = get_context("spawn")
    for runs in (1, 2, 3, 4):
        rates = []
        for _ in range(3):
            ready, go, done = context.Semaphore(0), context.Event(), context.Semaphore(0)
            started = [context.Process(target=train, args=(ready, go, done, steps, seed)) for seed in range(runs)]
            for process in started:
                process.start()
            for _ in started:
                ready.acquire()
            begin = perf_counter()
            go.set()
            for _ in started:
                done.acquire()
            rates.append(runs * steps / (perf_counter() - begin))
            for process in started:
                process.join()
        yield Point(f"runs of MFEC at once, {os.cpu_count()} cores", "all runs together", runs, float(np.median(rates)))


def draw(points: list[Point], stem: Path) -> None:
    """A figure with a panel for each question."""
    panels = list(dict.fromkeys(point.panel for point in points))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 6.4), layout="constrained")
        for axes, panel in zip(figure.subplots(2, 3).flat, panels, strict=True):
            shown = [point for point in points if point.panel == panel]
            for curve in dict.fromkeys(point.curve for point in shown):
                line = [point for point in shown if point.curve == curve]
                look = {"color": COLOURS.get(curve, COLOURS["sur" if curve.startswith(FLAT) else "lru"])}
                look |= {"linestyle": "--" if "128" in curve else "-"}
                xs, ys = [each.x for each in line], [each.y for each in line]
                axes.plot(xs, ys, marker="o", markersize=3.5, linewidth=1.5, label=curve, **look)
            rates, few = "at once" in panel, len(xs) <= 6 and max(xs) < 5_000
            axes.set_title(panel, fontsize=10)
            axes.set_xscale("linear" if rates else "log")
            axes.set_yscale("linear" if rates else "log")
            axes.set_ylabel("thousand steps per second" if rates else "µs")
            if few:
                axes.set_xticks(xs, [f"{x:,.0f}" for x in xs])
                axes.xaxis.set_minor_locator(mpl.ticker.NullLocator())
            if rates:
                axes.set_ylim(0)
                axes.yaxis.set_major_formatter(lambda y, _: f"{y / 1_000:g}")
            else:
                axes.set_ylim(min(each.y for each in shown) / 2, max(each.y for each in shown) * 4)
                axes.yaxis.set_major_formatter(lambda y, _: f"{y:,g}")
                axes.yaxis.set_minor_locator(mpl.ticker.NullLocator())
            axes.grid(alpha=0.25)
            axes.legend(fontsize=7.5, frameon=False)
    save(figure, stem)


def main() -> None:
    """Measure everything, write it down and draw it."""
    if len(sys.argv) != 3:
        sys.exit("give a file for the numbers and a name for the figure: python benchmarks/cost.py OUT.json FIGURE")
    out, stem = Path(sys.argv[1]), Path(sys.argv[2])
    points: list[Point] = []
    for curves in (by_entries, by_dimensions, by_actions, by_batch, by_strategy, by_runs):
        for point in curves():
            points.append(point)
            print(f"{point.panel}: {point.curve}, {point.x:g}: {point.y:,.1f}", flush=True)
        content = {"machine": describe_machine(), "points": [point._asdict() for point in points]}
        out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    draw(points, stem)


if __name__ == "__main__":
    main()
