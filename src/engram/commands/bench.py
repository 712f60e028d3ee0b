"""`engram bench`: speed beside peers and limits, measured on this machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from engram import checks
from engram.bench.contest import Row
from engram.bench.speeds import Outcome, changes, check_outcome_path, read_comparable
from engram.commands.failures import EXTRAS
from engram.commands.options import parse
from engram.commands.screen import Console, Text, new_console
from engram.errors import MissingExtraError, Stopped
from engram.lab.fitted_table import FittedTable

Group = Literal["reading", "training", "playing"]
GROUPS: dict[Group, tuple[str, ...]] = {  # with the modules that they cannot do without
    "reading": ("faiss", "ale_py"),
    "training": (),
    "playing": ("ale_py",),
}
STOPPED = "stopped; nothing was written, and the same command measures everything again"


@dataclass(frozen=True)
class Bench:
    """Measure Engram beside peers (FAISS, USearch, Stable-Baselines3, SBX) and limits (the bare environment).

    Everything is measured on one core, in turn, round by round. Reading needs FAISS and the Atari games, playing needs
    the games. What is not installed is left out.
    """

    only: tuple[Group, ...] | None = None  # what to measure; by default all that can be
    rounds: int = 9  # in each of which everything is measured once; medians are shown
    seed: int = 0  # of keys and agents
    quick: bool = False  # a few contests, each short, in at most 3 rounds: to see whether it works, not to compare
    out: Path | None = None  # a file to write everything to, as JSON, and a page of it beside
    compare: Path | None = None  # such a file from before: say what got slower


def bench(words: Sequence[str], console: Console) -> None:
    """Carry out `engram bench`."""
    options = parse(Bench, prog="engram bench", words=words)
    rounds, seed = checks.at_least("rounds", options.rounds, 1), checks.at_least("seed", options.seed, 0)
    rounds = min(rounds, 3) if options.quick else rounds
    before = None if options.compare is None else read_comparable(options.compare, quick=options.quick)
    if options.out is not None:
        check_outcome_path(options.out)
    progress = new_console(stderr=True)
    rows: list[Row] = []
    try:
        for group in measurable(options.only, progress):
            measure: Callable[..., Iterator[Row]] = import_module(f"engram.bench.{group}").rows
            for row in measure(quick=options.quick, seed=seed, rounds=rounds):
                said = f"{row.group}: {row.name} beside {row.peer}: {row.ratio:.2f}"
                progress.print(said, style="dim", highlight=False)
                rows.append(row)
    except Stopped as stopped:
        raise Stopped(STOPPED, stopped.signal) from None
    console.print(
        f"Speed: the peer's time ÷ Engram's, medians over {rounds} rounds (quartiles), and what is asked of it"
    )
    for kind in dict.fromkeys(row.group for row in rows):
        console.print(Text(kind, "bold"))
        show(table_of([row for row in rows if row.group == kind]), console)
    if options.out is not None:
        Outcome(rows, seed, rounds, options.quick).write(options.out)
        console.print(f"written to {options.out}, as a page to {options.out.with_suffix('.md')}")
    if before is not None:
        console.print("Since then: ratio now ÷ ratio before")
        show(table_of_changes(before.rows, rows), console)
        if not any(changes(before.rows, rows)):
            console.print(f"{options.compare} and this measurement have no row in common")


def measurable(only: Sequence[Group] | None, progress: Console) -> list[Group]:
    """The groups whose peers and games are installed; where all are asked for, it is said what is left out, and why.

    Raises MissingExtraError, before anything is measured, if a group is asked for that is not one of them.
    """
    found: list[Group] = []
    for group in only or GROUPS:
        missing = [module for module in GROUPS[group] if find_spec(module) is None]
        needs = f'needs {" and ".join(missing)}: pip install "engram-rl[{",".join(EXTRAS[each] for each in missing)}]"'
        if not missing:
            found.append(group)
        elif only:
            raise MissingExtraError(f"measuring {group} {needs}; without --only, what can be measured is")
        else:
            progress.print(f"{group} is left out, as it {needs}")
    return found


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


def table_of_changes(before: Sequence[Row], now: Sequence[Row]) -> FittedTable:
    """How ratios have changed since an earlier measurement."""
    rows: list[list[str | Text]] = [
        [row.name, row.peer, f"{change:.2f}", Text("slower", "red") if slower else ""]
        for row, change, slower in changes(before, now)
    ]
    return FittedTable(("work", "peer"), ("change", "seems"), rows, left=("work", "peer", "seems"))
