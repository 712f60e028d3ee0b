"""What came of all contests: a file of it, a page, and what got slower since another one."""

import json
import platform
from collections.abc import Iterable, Iterator
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
MADE = "Made by `engram bench`"  # in every page


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def describe_machine() -> dict[str, str]:
    """What the times depend on."""
    return {"processor": processor(), "platform": platform.platform(), "python": platform.python_version()}


def write_outcome(path: Path, rows: Iterable[Row], *, seed: int, rounds: int) -> None:
    """Write all rows to a file, and a page of them beside it."""
    rows = list(rows)
    content = {
        "engram": __version__,
        "machine": describe_machine(),
        "seed": seed,
        "rounds": rounds,
        "rows": [row.to_json() for row in rows],
    }
    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    write_atomically(path.with_suffix(".md"), page_of(rows).encode())


def page_of(rows: list[Row]) -> str:
    """All rows as tables in Markdown."""
    machine = describe_machine()
    lines = ["# Speed", "", f"{MADE}, one core of {machine['processor']}, {machine['platform']}.", ""]
    lines += [
        "The ratio is the peer's time divided by Engram's, the median over rounds in which all were measured, with",
        "",
    ]
    lines[-1:] = ["its quartiles: above 1 Engram is faster. *Asked* is what it should reach.", ""]
    for group in dict.fromkeys(row.group for row in rows):
        lines += [f"## {group[0].upper()}{group[1:]}", "", "| | µs | peer | its µs | ratio | quartiles | asked |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for row in rows:
            if row.group == group:
                asked = "" if row.asked is None else f"{row.asked:g}"
                cells = (row.name, f"{row.ours:,.1f}", row.peer, f"{row.theirs:,.1f}", f"{row.ratio:.2f}")
                lines.append(f"| {' | '.join(cells)} | {row.low:.2f} to {row.high:.2f} | {asked} |")
        lines.append("")
    return "\n".join(lines)


def read_outcome(path: Path) -> list[Row]:
    """The rows of a file that `write_outcome` wrote."""
    try:
        content: Any = json.loads(read_file(path))
        rows = [Row(**row) for row in content["rows"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInputError(f"{path} is not a file that `engram bench --out` wrote: {error!r}") from error
    for row in rows:
        words = all(isinstance(each, str) for each in (row.group, row.name, row.peer))
        numbers = (row.ours, row.theirs, row.ratio, row.low, row.high)
        if not (words and all(checks.is_number(each) and 0 < each < inf for each in numbers)):
            raise InvalidInputError(f"{path} is not a file that `engram bench --out` wrote: it has the row {row}")
    return rows


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
    """Whether `write_outcome` wrote a file."""
    try:
        return bool(read_outcome(path))
    except InvalidInputError:
        return False


def changes(before: list[Row], now: list[Row]) -> Iterator[tuple[Row, float, bool]]:
    """Rows that both have, with the ratio of now to that of before, and whether it seems to be slower."""
    known = {(row.group, row.name, row.peer): row for row in before}
    for row in now:
        old = known.get((row.group, row.name, row.peer))
        if old is not None:
            change = row.ratio / old.ratio
            yield row, change, change < NOISE and row.high < old.low
