"""What explains learning, as numbers with names: of an episode as it is written, and of a whole memory."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from engram.agents.common.episode import Finished, as_array
from engram.compiling import compiled
from engram.memory import EpisodicMemory
from engram.memory.strategies.decisions import OUTCOMES
from engram.typing import Floats, Longs

STATES = 12  # of an episode whose reads are measured, evenly apart
DIGITS = 6


def rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    """Those metrics that are numbers, to six digits, so that lines of a log are short."""
    return {name: float(f"{value:.{DIGITS}g}") for name, value in metrics.items() if isfinite(value)}


@compiled
def measure_reads(
    values: Floats,  # [B, k] of the nearest entries, nearest first
    distances: Floats,  # [B, k], squared
    found: Longs,  # [B], how many there are
    returns: Floats,  # [B], what followed
    delta: float,
    inverse: bool,
    exact_read: bool,
) -> tuple[int, int, float, float, float]:
    """Reads that found entries, those that hit one exactly; sums of distances, and of biases of these and of others."""
    known, exact = 0, 0
    distance, bias_exact, bias_near = 0.0, 0.0, 0.0
    for row in range(len(found)):
        if found[row] == 0:
            continue
        known += 1
        distance += np.sqrt(np.float64(distances[row, 0]))
        total, whole = 0.0, 0.0
        for i in range(found[row]):
            weight = 1 / (np.float64(distances[row, i]) + delta) if inverse else 1.0
            total += weight * values[row, i]
            whole += weight
        hit = distances[row, 0] == 0
        value = np.float64(values[row, 0]) if hit and exact_read else total / whole
        if hit:
            exact += 1
            bias_exact += value - returns[row]
        else:
            bias_near += value - returns[row]
    return known, exact, distance, bias_exact, bias_near


def metrics_of_reads(memory: EpisodicMemory, episode: Finished) -> dict[str, float]:
    """How well the memory knows states of an episode that is about to be written: in the table of the action taken.

    A bias is the value that is read minus the return that followed.
    """
    apart = -(-len(episode.actions) // STATES)
    near = memory.look_up(episode.actions[::apart], episode.keys[::apart])
    read = as_array(near.values), near.distances, near.found, np.ascontiguousarray(episode.returns[::apart])
    known, exact, distance, bias_exact, bias_near = measure_reads(
        *read, memory.delta, memory.kernel == "inverse", memory.exact_read
    )
    metrics = {"reads/exact": exact / len(near.found)}
    metrics |= {"reads/distance": distance / known} if known else {}
    metrics |= {"values/bias_exact": bias_exact / exact} if exact else {}
    return metrics | ({"values/bias_near": bias_near / (known - exact)} if known > exact else {})


def metrics_of_writes(memory: EpisodicMemory, before: Any) -> dict[str, float]:
    """How the writes since `before`, a copy of `memory.written`, have ended, and how full the memory is now."""
    counts = (memory.written - before).sum(0)
    total = max(int(counts.sum()), 1)
    shares = {f"writes/{name}": count / total for name, count in zip(OUTCOMES, counts.tolist(), strict=True)}
    if memory.strategy.is_built_in:
        del shares["writes/discarded"]  # which none of ours does
    return shares | {"memory/fill": int(memory.size.sum()) / (memory.actions * memory.capacity)}


def metrics_of_memory(memory: EpisodicMemory) -> dict[str, float]:
    """How full each table is, and the means of values, counts and ages over all entries."""
    size = memory.size
    metrics = {f"fill/{action}": each / memory.capacity for action, each in enumerate(size.tolist())}
    used = np.flatnonzero(size).tolist()
    tables = [{"value": memory.values(action), **memory.entry_numbers(action)} for action in used]
    for name in tables[0] if tables else ():
        numbers = np.concatenate([table[name] for table in tables])
        if name == "last_used":
            name, numbers = "age", memory.clock - numbers  # noqa: PLW2901 (a tick says nothing by itself)
        metrics[f"entries/{name}"] = float(numbers.mean(dtype=np.float64))
        if name == "n":
            metrics["entries/n_largest"] = float(numbers.max())
    return metrics
