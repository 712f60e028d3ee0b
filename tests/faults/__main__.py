"""Runs all fault-injection campaigns, or a short part of each with `--quick`; exit code 1 if anything was lost."""

import argparse
import json
import platform
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.faults.folders import folders
from tests.faults.fuzz import campaign as fuzz
from tests.faults.hostile_calls import watched
from tests.faults.kills import kills
from tests.faults.power import RUNS, TINY, power_cuts
from tests.faults.storage import checked, storage_faults
from tests.faults.tally import Tally, timed

RESULTS = Path(__file__).parents[2] / "results" / "faults.json"


def campaigns(seed: int, *, quick: bool) -> Iterator[tuple[str, Callable[[], Tally]]]:
    """The campaigns, by name."""
    runs = (TINY,) if quick else RUNS
    yield "kills", lambda: kills(20 if quick else 200, seed)
    yield "power cuts", lambda: every(lambda run: power_cuts(run, seed, 200 if quick else None), runs)
    yield "storage faults", lambda: every(storage_faults, runs)
    yield "folders and processes", checked
    yield "damaged folders", lambda: folders(20 if quick else 100, seed)
    yield "hostile files", lambda: fuzz(2_000 if quick else 100_000, seed)
    yield "hostile calls of the memory", lambda: watched("memory_calls", 1_000 if quick else 100_000, seed)
    yield "hostile calls of agents", lambda: watched("agent_calls", 500 if quick else 20_000, seed)


def every(campaign: Callable[[Any], Tally], runs: tuple[Any, ...]) -> Tally:
    tally = Tally()
    for run in runs:
        tally.add(campaign(run))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a slice of each campaign; writes no results")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="CAMPAIGN", help="these campaigns alone; other results stay")
    options = parser.parse_args()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell has background jobs ignore it, and their children
    console = Console(highlight=False)
    table = Table("campaign", "what", "losses", "seconds", title="Faults")
    losses = 0
    for name, campaign in campaigns(options.seed, quick=options.quick):
        if options.only and name not in options.only:
            continue
        console.print(f"{name} …")
        found = timed(campaign)
        what = "\n".join(f"{number:,} {thing}" for thing, number in found["counts"].items())
        table.add_row(name, what, str(len(found["losses"])), f"{found['seconds']:.0f}", end_section=True)
        for loss in found["losses"][:20]:
            console.print(loss, style="red", markup=False)
        losses += len(found["losses"])
        if not options.quick:
            write_result(name, {"seed": options.seed} | found)
    console.print(table)
    return int(losses > 0)


def write_result(name: str, found: dict[str, Any]) -> None:
    """Put what a campaign found in the place of what it found before."""
    before = json.loads(RESULTS.read_text())["campaigns"] if RESULTS.exists() else {}
    about = {"python": platform.python_version(), "platform": platform.platform()}
    RESULTS.write_text(json.dumps(about | {"campaigns": before | {name: found}}, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
