"""`engram bench`: speed beside peers and limits, measured on this machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from engram import checks
from engram.bench.contest import Row
from engram.bench.speeds import changes, check_outcome_path, read_outcome, write_outcome
from engram.commands.options import parse
from engram.commands.screen import Console, Text
from engram.errors import MissingExtraError, Stopped
from engram.lab.fitted_table import FittedTable

Group = Literal["reading", "training", "playing"]
GROUPS: tuple[Group, ...] = ("reading", "training", "playing")
STOPPED = "stopped; nothing was written, and the same command measures everything again"
NEEDED: dict[Group, tuple[str, ...]] = {"reading": ("faiss", "ale_py"), "training": (), "playing": ("ale_py",)}


@dataclass(frozen=True)
class Bench:
    """Measure Engram beside peers (FAISS, USearch, Stable-Baselines3, SBX) and limits (the bare environment).

    Everything is measured on one core, in turn, round by round. Reading needs FAISS and ale-py, and playing ale-py;
    other peers that are not installed are left out.
    """

    only: tuple[Group, ...] = GROUPS  # what to measure
    rounds: int = 9  # in each of which everything is measured once; medians are shown
    seed: int = 0  # of keys and agents
    quick: bool = False  # a few contests, each short: to see whether it works
    out: Path | None = None  # a file to write everything to, as JSON, and a page of it beside
    compare: Path | None = None  # such a file from before: say what got slower


def bench(words: Sequence[str], console: Console) -> None:
    """Carry out `engram bench`."""
    options = parse(Bench, prog="engram bench", words=words)
    rounds, seed = checks.at_least("rounds", options.rounds, 1), checks.at_least("seed", options.seed, 0)
    rounds = min(rounds, 3) if options.quick else rounds
    before = None if options.compare is None else read_outcome(options.compare)
    if options.out is not None:
        check_outcome_path(options.out)
    check_installed(options.only)
    rows: list[Row] = []
    try:
        for group in options.only:
            measure: Callable[..., Iterator[Row]] = import_module(f"engram.bench.{group}").rows
            for row in measure(quick=options.quick, seed=seed, rounds=rounds):
                said = f"{row.group}: {row.name} beside {row.peer}: {row.ratio:.2f}"
                console.print(said, style="dim", highlight=False)
                rows.append(row)
    except Stopped as stopped:
        raise Stopped(STOPPED, stopped.signal) from None
    console.print("Speed: the peer's time ÷ Engram's, medians (quartiles)")
    for kind in dict.fromkeys(row.group for row in rows):
        console.print(Text(kind, "bold"))
        show(table_of([row for row in rows if row.group == kind]), console)
    if options.out is not None:
        write_outcome(options.out, rows, seed=seed, rounds=rounds)
        console.print(f"written to {options.out}, as a page to {options.out.with_suffix('.md')}")
    if before is not None:
        console.print("Since then: ratio now ÷ ratio before")
        show(table_of_changes(before, rows), console)
        if not any(changes(before, rows)):
            console.print(f"{options.compare} and this measurement have no row in common")


def check_installed(groups: Sequence[Group]) -> None:
    """Raise MissingExtraError, before anything is measured, unless what these groups need is installed."""
    for group in groups:
        for module in NEEDED[group]:
            try:
                import_module(module)
            except ModuleNotFoundError as error:
                others = " ".join(other for other in groups if module not in NEEDED[other])
                without = f"; what does not need it: --only {others}" if others else ""
                raise MissingExtraError(
                    f'measuring {group} needs {module}: pip install "engram-rl[atari,bench]"{without}'
                ) from error


def show(table: FittedTable, console: Console) -> None:
    """Print a table as it fits the screen."""
    for part in table.within(console.width):
        console.print(part)


def table_of(rows: list[Row]) -> FittedTable:
    """Rows of one group; where a ratio is asked for, whether it is reached."""
    cells: list[list[str | Text]] = []
    for row in rows:
        reached = "" if row.asked is None else ("green" if row.ratio >= row.asked else "red")
        ratio = Text.assemble((f"{row.ratio:.2f}", reached), (f" ({row.low:.2f} to {row.high:.2f})", "dim"))
        asked = "" if row.asked is None else f"{row.asked:g}"
        cells.append([row.name, row.peer, f"{row.ours:,.1f}", f"{row.theirs:,.1f}", ratio, asked])
    return FittedTable(("work", "peer"), ("µs", "its µs", "ratio", "asked"), cells, left=("work", "peer"))


def table_of_changes(before: list[Row], now: list[Row]) -> FittedTable:
    """How ratios have changed since an earlier measurement."""
    rows: list[list[str | Text]] = [
        [row.name, row.peer, f"{change:.2f}", Text("slower", "red") if slower else ""]
        for row, change, slower in changes(before, now)
    ]
    return FittedTable(("work", "peer"), ("change", ""), rows, left=("work", "peer", ""))
