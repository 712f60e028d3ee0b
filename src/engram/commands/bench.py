"""`engram bench`: speed beside peers and limits, measured on this machine."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal

from rich.table import Table

from engram import checks
from engram.bench.contest import Row
from engram.bench.speeds import changes, check_outcome_path, read_outcome, write_outcome
from engram.commands.options import parse
from engram.commands.screen import Console, Text

Group = Literal["reading", "training", "playing"]
GROUPS: tuple[Group, ...] = ("reading", "training", "playing")


@dataclass(frozen=True)
class Bench:
    """Measure Engram beside peers (FAISS, USearch, Stable-Baselines3, SBX) and limits (the bare environment).

    Everything is measured on one core, in turn, round by round. Peers that are not installed are left out.
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
    rows: list[Row] = []
    for group in options.only:
        measure: Callable[..., Iterator[Row]] = import_module(f"engram.bench.{group}").rows
        for row in measure(quick=options.quick, seed=seed, rounds=rounds):
            console.print(f"{row.group}: {row.name} beside {row.peer}: {row.ratio:.2f}", style="dim", highlight=False)
            rows.append(row)
    console.print(table_of(rows))
    if options.out is not None:
        write_outcome(options.out, rows, seed=seed, rounds=rounds)
        console.print(f"written to {options.out}, as a page to {options.out.with_suffix('.md')}")
    if before is not None:
        console.print(table_of_changes(before, rows))
        if not any(changes(before, rows)):
            console.print(f"{options.compare} and this measurement have no row in common")


def table_of(rows: list[Row]) -> Table:
    """All rows; where a ratio is asked for, whether it is reached."""
    table = Table(title="Speed: the peer's time ÷ Engram's, medians (quartiles)")
    for column in ("", "µs", "peer", "its µs", "ratio", "asked"):
        number = column not in ("", "peer")
        table.add_column(column, justify="right" if number else "left", no_wrap=number)
    group = ""
    for row in rows:
        if row.group != group:
            table.add_section()
            group = row.group
        reached = "" if row.asked is None else ("green" if row.ratio >= row.asked else "red")
        ratio = Text.assemble((f"{row.ratio:.2f}", reached), (f" ({row.low:.2f} to {row.high:.2f})", "dim"))
        asked = "" if row.asked is None else f"{row.asked:g}"
        table.add_row(row.name, f"{row.ours:,.1f}", row.peer, f"{row.theirs:,.1f}", ratio, asked)
    return table


def table_of_changes(before: list[Row], now: list[Row]) -> Table:
    """How ratios have changed since an earlier measurement."""
    table = Table(title="Since then: ratio now ÷ ratio before")
    for column in ("", "peer", "change", ""):
        table.add_column(column, justify="right" if column == "change" else "left", no_wrap=column == "change")
    for row, change, slower in changes(before, now):
        word = Text("slower", "red") if slower else Text("")
        table.add_row(row.name, row.peer, f"{change:.2f}", word)
    return table
