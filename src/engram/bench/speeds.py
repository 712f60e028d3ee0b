"""What came of all contests: a file of it, a page, and what got slower since another one."""

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from engram import checks
from engram.bench.contest import Row
from engram.errors import InvalidInputError, StorageError
from engram.files.disk import read_file, write_atomically
from engram.files.targets import check_replaceable
from engram.version import __version__

NOISE = 0.93  # of the ratio before: below, something may have become slower
MADE = "Made by `engram bench"  # in every page
EXPLAINED = {  # what names of rows mean, by group
    "reading": (
        "A × N × d, k: one query to A tables of N keys of d numbers each, of which k are found. *Normal* keys vary\n"
        "alike in all directions. Those of both games are of Pong and Ms. Pac-Man, tables and queries from different\n"
        "games of play; their times are geometric means."
    ),
    "training": "A step of training on CartPole, with N entries per action.",
    "playing Pong": "Steps with all preprocessing; those of MFEC with N entries per action, all tables full.",
}


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def describe_machine() -> dict[str, str]:
    """What the times depend on."""
    return {"processor": processor(), "platform": platform.platform(), "python": platform.python_version()}


@dataclass(frozen=True)
class Outcome:
    """All rows of a measurement, and how it was made."""

    rows: Sequence[Row]
    seed: int
    rounds: int
    quick: bool = False
    machine: Mapping[str, str] = field(default_factory=describe_machine)

    def to_json(self) -> dict[str, Any]:
        """As plain data, with the version that it is of."""
        made = {"seed": self.seed, "rounds": self.rounds, "quick": self.quick}
        rows = [row.to_json() for row in self.rows]
        return {"engram": __version__, "machine": self.machine, **made, "rows": rows}

    def write(self, path: Path) -> None:
        """Write it to a file, and a page of it beside."""
        write_atomically(path, (json.dumps(self.to_json(), indent=1, ensure_ascii=False) + "\n").encode())
        write_atomically(path.with_suffix(".md"), self.page().encode())

    def page(self) -> str:
        """All rows as tables in Markdown."""
        where = f"one core of {self.machine['processor']}, {self.machine['platform']}"
        lines = [
            "# Speed",
            "",
            f"{MADE}{' --quick' if self.quick else ''}`, {where}.",
            "",
            f"The ratio is the peer's time divided by Engram's, the median over {self.rounds} rounds in which all were",
            "measured, with its quartiles: above 1 Engram is faster. *Asked* is what it should reach.",
            "",
        ]
        for group in dict.fromkeys(row.group for row in self.rows):
            lines += [f"## {group[0].upper()}{group[1:]}", "", *([EXPLAINED[group], ""] if group in EXPLAINED else [])]
            lines += ["| | µs | peer | its µs | ratio | quartiles | asked |", "|---|---|---|---|---|---|---|"]
            lines += [_line(row) for row in self.rows if row.group == group]
            lines.append("")
        return "\n".join(lines)


def _line(row: Row) -> str:
    asked = "" if row.asked is None else f"{row.asked:g}"
    cells = (row.name, f"{row.ours:,.1f}", row.peer, f"{row.theirs:,.1f}", f"{row.ratio:.2f}")
    return f"| {' | '.join(cells)} | {row.low:.2f} to {row.high:.2f} | {asked} |"


def read_outcome(path: Path) -> Outcome:
    """What `Outcome.write` wrote."""
    try:
        content: Any = json.loads(read_file(path))
        rows = [Row(**row) for row in content["rows"]]
        made = content["seed"], content["rounds"], content.get("quick", False)
        outcome = Outcome(rows, *made, machine=content["machine"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{path} is not a file that `engram bench --out` wrote") from error
    for row in rows:
        words = all(isinstance(each, str) for each in (row.group, row.name, row.peer))
        numbers = (row.ours, row.theirs, row.ratio, row.low, row.high)
        if not (words and all(checks.is_number(each) and 0 < each < inf for each in numbers)):
            raise InvalidInputError(f"{path} is not a file that `engram bench --out` wrote: it has the row {row}")
    return outcome


def read_comparable(path: Path, *, quick: bool) -> Outcome:
    """An outcome of before, if it was measured at the same length as one that is to be compared with it."""
    if not path.exists():
        raise InvalidInputError(f"{path} is not there; give a file that `engram bench --out` wrote")
    outcome = read_outcome(path)
    if outcome.quick != quick:
        how, option = ("with", "give --quick too") if outcome.quick else ("without", "leave out --quick")
        raise InvalidInputError(
            f"{path} was measured {how} --quick, which has other keys, so times would not be comparable; {option}, or "
            "compare with a file that was measured as this one is to be"
        )
    return outcome


def check_outcome_path(path: Path) -> None:
    """Raise an error unless a file can be written there, and a page of it beside, and nothing else is lost by it."""
    if path.suffix == ".md":
        raise InvalidInputError(f"{path} is where the page goes; give the name of the JSON file, such as bench.json")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InvalidInputError(f"{path} cannot be written: it must be a file's name in a folder that is there")
    try:
        with TemporaryFile(dir=path.absolute().parent):
            pass
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror}); choose another folder") from error
    check_replaceable(path, lambda: _is_outcome(path), "no file that `engram bench --out` wrote")
    page = path.with_suffix(".md")
    check_replaceable(page, lambda: MADE.encode() in read_file(page), "no page of `engram bench`, which goes there")


def _is_outcome(path: Path) -> bool:
    """Whether `Outcome.write` wrote a file."""
    try:
        return bool(read_outcome(path))
    except InvalidInputError:
        return False


def changes(before: Sequence[Row], now: Sequence[Row]) -> Iterator[tuple[Row, float, bool]]:
    """Rows that both have, with the ratio of now to that of before, and whether it seems to be slower."""
    known = {(row.group, row.name, row.peer): row for row in before}
    for row in now:
        old = known.get((row.group, row.name, row.peer))
        if old is not None:
            change = row.ratio / old.ratio
            yield row, change, change < NOISE and row.high < old.low
