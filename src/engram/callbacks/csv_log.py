"""A log as a table of comma-separated values, for spreadsheets and data frames."""

import csv
from collections.abc import Iterable, Mapping
from io import StringIO
from itertools import chain
from pathlib import Path
from typing import IO

from engram.agents import Agent
from engram.callbacks.scalars import scalars_of
from engram.errors import StorageError
from engram.files.disk import is_file, make_folder, read_file, storage_errors, whole_path, write_atomically
from engram.training.callback import Callback
from engram.training.events import EpisodeEnd, Event

FIRST = ["step", "event"]
Row = dict[str, str]


class CsvLog(Callback):
    """Writes a row for each episode and evaluation: the step, which of both it is, and a column for each number.

    Where learning goes on, so does the file: rows of later steps than the agent's own are dropped first, and a line
    that was torn by a crash. In a run it is made again from the run's own log.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = whole_path(Path(path))
        self._columns: list[str] = []
        self._file: IO[str] | None = None

    def catch_up(self, agent: Agent, events: Iterable[Event]) -> None:
        """Write everything that a run has behind it."""
        rows = [row for event in events if (row := row_of(event))]
        self._write([dict(zip(row, map(str, row.values()), strict=True)) for row in rows])

    def begin(self, agent: Agent) -> None:
        """Keep the rows up to the agent's step, and open the file."""
        self._write([row for row in self._read() if int(row["step"]) <= agent.steps])
        with storage_errors("write", self.path):
            self._file = self.path.open("a", newline="", encoding="utf-8")

    def on_event(self, agent: Agent, event: Event) -> None:
        """Add a row; where it has new columns, the file is written again with them."""
        row = row_of(event)
        if not row or self._file is None:
            return
        if not row.keys() <= set(self._columns):
            self._file.close()
            self._write([*self._read(), {name: str(value) for name, value in row.items()}])
            self._file = self.path.open("a", newline="", encoding="utf-8")
            return
        with storage_errors("write", self.path):
            csv.DictWriter(self._file, self._columns, restval="", lineterminator="\n").writerow(row)
            self._file.flush()

    def end(self, agent: Agent) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self) -> list[Row]:
        """The rows that the file has; a last line is left out that was being written when a process was killed."""
        content = read_file(self.path) if is_file(self.path) else b""
        try:
            whole = content[: content.rfind(b"\n") + 1].decode()
            reader = csv.DictReader(StringIO(whole, newline=""))
            rows, ours = list(reader), not content or list(reader.fieldnames or ())[:2] == FIRST
            if ours and all(row["step"].isdecimal() and row["event"] for row in rows):
                return [{name: text for name, text in row.items() if text} for row in rows]
        except (ValueError, KeyError, AttributeError, csv.Error):
            pass
        raise StorageError(f"{self.path} is not a log of ours, so nothing is written to it; choose another file")

    def _write(self, rows: list[Row]) -> None:
        """Put a file with these rows in its place, and a column for each of their numbers."""
        self._columns = FIRST + sorted(set(chain.from_iterable(rows)) - set(FIRST))
        text = StringIO(newline="")
        writer = csv.DictWriter(text, self._columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        make_folder(self.path.parent)
        write_atomically(self.path, text.getvalue().encode())


def row_of(event: Event) -> Mapping[str, str | float]:
    """An episode or an evaluation as a row; nothing for a single step."""
    scalars = scalars_of(event)
    kind = "episode" if isinstance(event, EpisodeEnd) else "evaluation"
    return {"step": event.step, "event": kind, **scalars} if scalars else {}
