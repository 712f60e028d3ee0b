"""CartPole at the paper's settings, ours beside a rerun of the authors' code and beside the paper.

    python results/cartpole/make.py

Runs five strategies from seeds 0–4 (finished ones in runs/ are reused) and writes scores.csv and README.md beside this
file. A score is the mean of a run's last ten evaluations.
"""

import csv
import os
from collections.abc import Iterator
from math import sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from engram.agents import get_agent
from engram.report.style import label
from engram.studies.runner import Outcome, run_all
from engram.training.run import Run

HERE = Path(__file__).parent
STRATEGIES = ("lru", "rew", "sur", "kmeans", "dkm")
SEEDS = range(5)
STEPS = {"mfec": 15_000}


class Score(NamedTuple):
    """Mean and standard deviation over seeds."""

    mean: float
    std: float

    def __str__(self) -> str:
        return f"{self.mean:.0f} ± {self.std:.0f}"


# (agent, entries per action) → a score per strategy, in the order of STRATEGIES
RERUN = {  # the authors' code, 3 seeds
    ("mfec", 500): [Score(169, 31), Score(33, 9), Score(112, 10), Score(316, 55), Score(191, 18)],
}
PAPER = {  # Agostinelli et al. 2019, Table 1
    ("mfec", 500): [Score(142, 19), Score(61, 7), Score(102, 12), Score(244, 131), Score(174, 34)],
}

HEAD = """# CartPole at the paper's settings

Made by `python results/cartpole/make.py`. Evaluation of ten greedy episodes every 500 steps; a score is the mean
of a run's last ten evaluations; mean ± standard deviation (ddof 1) over seeds 0–4. *Rerun*: the code that the paper's
authors published, run with the same protocol from 3 seeds. *Paper*: its Table 1.
"""

WHY = {
    ("mfec", 500, "rew", "paper"): "the authors' own code, rerun, is as low (33 ± 9), so the paper's figure does not follow from "
    "its settings; we do not know what made it.",
}


def runs() -> Iterator[tuple[tuple[str, int], str, list[Run]]]:
    """Every cell of the table with its runs."""
    for agent, capacity in RERUN:
        config = get_agent(agent).Config
        for strategy in STRATEGIES:
            settings = {"strategy": strategy, "capacity": capacity}
            yield (
                (agent, capacity),
                strategy,
                [Run(agent, "CartPole-v1", config(**settings, seed=seed), STEPS[agent]) for seed in SEEDS],
            )


def differences(cell: tuple[str, int], strategy: str, ours: Score) -> Iterator[str]:
    """A sentence for each difference beyond two (pooled) standard deviations."""
    place = STRATEGIES.index(strategy)
    for name, theirs in (("rerun", RERUN[cell][place]), ("paper", PAPER[cell][place])):
        pooled = sqrt((ours.std**2 + theirs.std**2) / 2)
        if abs(ours.mean - theirs.mean) > 2 * pooled:
            agent, capacity = cell
            why = WHY.get((agent, capacity, strategy, name), "we have no explanation yet.")
            yield (
                f"- {agent.upper()}, {capacity}, {label({'name': strategy})}: ours {ours}, {name} {theirs}, "
                f"{abs(ours.mean - theirs.mean) / pooled:.1f} standard deviations apart: {why}"
            )


def main() -> None:
    """Run what has no result yet, then write the table."""
    cells = list(runs())
    console = Console()

    def tell(outcome: Outcome) -> None:
        if outcome.result is not None and not outcome.reused:
            console.print(f"{outcome.run.id}: {outcome.result['score']:.1f}", highlight=False)

    results = run_all(
        [run for _, _, group in cells for run in group], Path("runs/cartpole"), jobs=os.cpu_count() or 1, callback=tell
    )
    scores = {(cell, strategy): [float(results[run.id]["score"]) for run in group] for cell, strategy, group in cells}
    with (HERE / "scores.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["agent", "capacity", "strategy", "seed", "score"])
        for ((agent, capacity), strategy), values in scores.items():
            for seed, value in zip(SEEDS, values, strict=True):
                writer.writerow([agent, capacity, strategy, seed, round(value, 3)])
    ours = {key: Score(float(np.mean(values)), float(np.std(values, ddof=1))) for key, values in scores.items()}
    lines = [HEAD, "| | " + " | ".join(label({"name": name}) for name in STRATEGIES) + " |", "|---" * 6 + "|"]
    for cell, rerun in RERUN.items():
        agent, capacity = cell
        for name, row in (
            ("ours", [ours[cell, strategy] for strategy in STRATEGIES]),
            ("rerun", rerun),
            ("paper", PAPER[cell]),
        ):
            lines.append(f"| {agent.upper()}, {capacity}, {name} | " + " | ".join(map(str, row)) + " |")
    lines += ["", "Differences beyond two pooled standard deviations:", ""]
    apart = [line for (cell, strategy), score in ours.items() for line in differences(cell, strategy, score)]
    lines += apart or ["- none"]
    (HERE / "README.md").write_text("\n".join(lines) + "\n")
    console.print("\n".join(lines), highlight=False, markup=False)


if __name__ == "__main__":
    main()
