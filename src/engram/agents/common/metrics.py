"""What explains learning, as numbers with names: of an episode as it is written, of evaluations and of a memory."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

import numpy as np

from engram.agents.common.episode import Finished
from engram.agents.common.predicting import possible_values
from engram.compiling import compiled
from engram.memory import EpisodicMemory
from engram.memory.strategies.decisions import OUTCOMES
from engram.typing import Doubles, Floats, Longs

STATES = 12  # of an episode whose reads are measured, evenly apart
DIGITS = 6


def rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    """Those metrics that are numbers, to six digits, so that lines of a log are short."""
    return {name: float(f"{value:.{DIGITS}g}") for name, value in metrics.items() if isfinite(value)}


@compiled
def add_reads(
    values: Floats,  # [entries] of a table
    slots: Longs,  # [B, k] of the nearest entries there, nearest first
    distances: Floats,  # [B, k], squared
    returns: Floats,  # [B], what followed
    delta: float,
    inverse: bool,
    exact_read: bool,
    sums: Doubles,  # [5]: reads that found entries, exact hits among them, distances, biases of hits and of others
) -> None:
    """Add what was read of a batch of states to sums."""
    for row in range(len(slots)):
        total, whole = 0.0, 0.0
        for i in range(slots.shape[1]):
            weight = 1 / (np.float64(distances[row, i]) + delta) if inverse else 1.0
            total += weight * values[slots[row, i]]
            whole += weight
        hit = distances[row, 0] == 0
        value = np.float64(values[slots[row, 0]]) if hit and exact_read else total / whole
        sums[0] += 1
        sums[1] += hit
        sums[2] += np.sqrt(np.float64(distances[row, 0]))
        sums[3 if hit else 4] += value - returns[row]


def metrics_of_reads(memory: EpisodicMemory, episode: Finished) -> dict[str, float]:
    """How well the memory knows states of an episode that is about to be written: in the table of the action taken.

    A bias is the value that is read minus the return that followed.
    """
    rows = np.arange(0, len(episode.actions), -(-len(episode.actions) // STATES))
    actions, sums = episode.actions[rows], np.zeros(5)
    for action in sorted(set(actions.tolist())):
        taken = rows[actions == action]
        slots, distances = memory.find_neighbours(action, episode.keys[taken])
        if slots.shape[1]:
            read = memory.values(action), slots, distances, episode.returns[taken]
            add_reads(*read, memory.delta, memory.kernel == "inverse", memory.exact_read, sums)
    known, exact, distance, bias_exact, bias_near = sums.tolist()
    metrics = {"reads/exact": exact / len(rows)}
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


def metrics_of_starts(q: Floats, apart: Floats | None, followed: Doubles, masks: Any = None) -> dict[str, float]:
    """What was expected where the episodes of an evaluation began, and how far that is from what was known.

    For each start, `q` has the value of every action, `apart` its squared distance to what is remembered, `followed`
    is the discounted return, and `masks` say which actions were possible.
    """
    best = possible_values(q, masks).max(1).astype(np.float64)
    metrics = {"start/value": float(best.mean()), "start/bias": float((best - followed).mean())}
    if apart is not None:
        nearest = (apart if masks is None else np.where(masks, apart, np.inf)).min(1).astype(np.float64)
        metrics["start/distance"] = float(np.sqrt(nearest).mean())
    return metrics


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
