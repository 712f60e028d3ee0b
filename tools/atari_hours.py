"""How many hours the paper's Table 3 takes in full: `python -m tools.atari_hours`, which writes results/atari/hours.md.

From the times of results/gpu/hours.json (`python benchmarks/hours.py`, on a GPU) and of results/bench.json (`engram
bench`), and from how long MFEC's games of evaluation lasted in results/atari.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from engram.envs.atari import GAMES
from engram.files.disk import write_atomically
from engram.lab.dataframes import pl
from engram.paper.atari.sweep import STUDY

RESULTS = Path(__file__).parents[1] / "results"
PAGE = RESULTS / "atari" / "hours.md"
SECONDS_PER_HOUR = 3600
CARRIED_OUT = 1_000_000  # steps of those runs of MFEC that were carried out
TWO_CORES = "two cores of {processor}"


class Times(NamedTuple):
    """What one process takes for a step while so many work at once, in seconds."""

    machine: str
    processes: int
    training: float
    evaluation: float


class Part(NamedTuple):
    """The runs of an agent at one size."""

    agent: str
    capacity: int | None
    runs: int
    steps: int  # of training, in all
    evaluations: int  # in all

    def hours(self, times: Times, length: float, games: int) -> float:
        """With games of such a length, so many to an evaluation."""
        seconds = self.steps * times.training + self.evaluations * games * length * times.evaluation
        return seconds / times.processes / SECONDS_PER_HOUR


def parts() -> list[Part]:
    """The whole study."""
    found = dict[tuple[str, int | None], Part]()
    for grid in STUDY.grids:
        for capacity in grid.sizes or (None,):
            agent, runs = grid.agent_name, len(grid.seeds) * max(1, len(grid.strategies))
            before = found.get((agent, capacity), Part(agent, capacity, 0, 0, 0))
            found[agent, capacity] = Part(
                agent,
                capacity,
                before.runs + runs,
                before.steps + runs * grid.steps,
                before.evaluations + runs * (grid.steps // grid.evaluation_interval_steps),
            )
    return list(found.values())


def times_of(part: Part, gpu: dict[str, Any], bench: dict[str, Any]) -> Times:
    """Where a part would be run: MFEC on two cores of a CPU, as many networks at once as were measured on a GPU."""
    if part.agent == "mfec":
        name = f"MFEC lru, N = {part.capacity:,}"
        step = next(row["ours"] for row in bench["rows"] if row["name"] == name and row["peer"] == "emulator") / 1e6
        return Times(TWO_CORES.format(**bench["machine"]), 2, step, step)
    rows = [row for row in gpu["rows"] if (row["agent"], row["capacity"]) == (part.agent, part.capacity)]
    most = max(rows, key=lambda row: row["processes"])
    times = most["training_step_us"] / 1e6, most["evaluation_step_us"] / 1e6
    return Times(f"one {gpu['device']}, {most['processes']} runs at once", most["processes"], *times)


def mean_length() -> float:
    """Steps of a game of evaluation, the mean over games of MFEC's evaluations."""
    table = pl.read_parquet(RESULTS / "atari" / "evaluations.parquet").filter(pl.col("agent") == "mfec")
    by_game = table.group_by("env").agg(pl.col("length").mean())
    if len(by_game) != len(GAMES):
        raise SystemExit(f"results/atari has {len(by_game)} of {len(GAMES)} games")
    return float(by_game["length"].to_numpy().mean())


def taken(steps: int) -> tuple[int, float]:
    """How many runs of MFEC with so many steps results/atari has, and the seconds that a step of theirs took there.

    Steps of evaluations count as steps, and the runs at one time share what the call took.
    """
    folder = RESULTS / "atari"
    places = json.loads((folder / "study.json").read_text())["runs"]
    calls = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    whole = [call for call in calls if f"--steps {steps} " in call["command"]]
    runs = {name: place for name, place in places.items() if place["agent"] == "mfec" and place["steps"] == steps}
    if not runs or sum(call["runs"]["done"] for call in whole) != len(runs):
        raise SystemExit(f"results/atari does not say how long MFEC's runs of {steps:,} steps took")
    table = pl.read_parquet(folder / "evaluations.parquet").filter(pl.col("run").is_in(list(runs)))
    games = next(iter(runs.values()))["evaluation_episodes"]
    walked = len(runs) * steps + games * float(table["length"].sum())
    return len(runs), sum(call["seconds"] for call in whole) / walked


def page(rows: Sequence[tuple[Part, Times]], length: float, games: int) -> str:
    """What is written."""
    lines = [
        "# What Table 3 takes in full",
        "",
        "Made by `python -m tools.atari_hours`, from times measured on Pong with full memories at the final ε "
        "([a CPU](../bench.md), [a GPU](../gpu/hours.json): `python benchmarks/hours.py`). Evaluations play "
        f"{games} games of {length:,.0f} steps each, which is how long MFEC's lasted in [this study](README.md), "
        "the mean over games.",
        "",
        "| agent | entries per action | runs | steps of a run | where | a step there | hours |",
        "|---|---:|---:|---:|---|---:|---:|",
    ]
    totals = dict[str, float]()
    for part, times in rows:
        hours = part.hours(times, length, games)
        where = times.machine.split(",")[0]
        totals[where] = totals.get(where, 0) + hours
        size = "–" if part.capacity is None else f"{part.capacity:,}"
        cells: Sequence[str] = (
            part.agent.upper(),
            size,
            str(part.runs),
            f"{part.steps // part.runs:,}",
            times.machine,
            f"{times.training / times.processes * 1e6:,.0f} µs",
            f"{hours:.0f}",
        )
        lines.append("| " + " | ".join(cells) + " |")
    spent = " and ".join(f"{hours:.0f} hours on {where}" for where, hours in totals.items())
    lines += ["", f"Together {spent}. *A step there*: a step of training, divided by the number of runs at once.", ""]
    part, times = rows[0]
    count, seconds = taken(CARRIED_OUT)
    pace = times._replace(training=seconds * times.processes, evaluation=seconds * times.processes)
    lines += [
        "MFEC was measured on one core of a machine that had nothing else to do. Its "
        f"{count} runs of {CARRIED_OUT:,} steps in this study, two at once on two cores that had other work as well, "
        f"took {seconds * 1e6:,.0f} µs a step, evaluations included: at that pace the first row takes "
        f"{part.hours(pace, length, games):.0f} hours.",
        "",
    ]
    return "\n".join(lines)


def made() -> str:
    """The page, from what is in results/ now."""
    gpu, bench = (json.loads((RESULTS / name).read_text()) for name in ("gpu/hours.json", "bench.json"))
    games = {grid.evaluation_episodes for grid in STUDY.grids}
    if len(games) != 1:
        raise SystemExit("evaluations of the study have different numbers of games")
    return page([(part, times_of(part, gpu, bench)) for part in parts()], mean_length(), games.pop())


def main() -> None:
    """Write the page, and print it."""
    text = made()
    write_atomically(PAGE, text.encode())
    print(text)


if __name__ == "__main__":
    main()
