"""Tables for a screen of any width: whole, under headings, in parts, or row by row. No cell is ever cut."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

WIDE, NARROW = 3, 1  # columns of the screen between two columns of a table


@dataclass(frozen=True)
class FittedTable:
    """Rows whose first cells name them."""

    names: Sequence[str]  # headers of the cells that name a row
    columns: Sequence[str]  # headers of all others
    rows: Sequence[Sequence[str | Text]]
    left: Collection[str] = ()  # headers of those that begin at the left, as words do
    separable: bool = False  # whether columns may stand in tables of their own, below each other

    def within(self, width: int) -> list[Table | Text]:
        """What is printed on a screen of so many columns: the first of these ways in which the table fits it."""
        for gap in (WIDE, NARROW):
            if self.width(gap) <= width:
                return [self._table(gap)]
        sizes = range(len(self.columns), 0, -1) if self.separable else [len(self.columns)]
        for size in sizes:
            blocks = [(heading, block._parts(size)) for heading, block in self._headed()]
            for gap in (WIDE, NARROW):
                if all(part.width(gap) <= width for _, parts in blocks for part in parts):
                    return [each for heading, parts in blocks for each in _block(heading, parts, gap)]
        return [line for row in self.rows for line in self._turned(row)]

    def width(self, gap: int = NARROW) -> int:
        """The width of the whole table, at least."""
        cells = zip([*self.names, *self.columns], *self.rows, strict=True)
        return 1 + sum(gap + max(map(_width, column)) for column in cells)

    def without(self, columns: Collection[str]) -> "FittedTable":
        """The table without some of its columns."""
        return self._only([number for number, name in enumerate(self.columns) if name not in columns])

    def _only(self, chosen: Sequence[int]) -> "FittedTable":
        first = len(self.names)
        rows = [[*row[:first], *(row[first + number] for number in chosen)] for row in self.rows]
        return replace(self, columns=[self.columns[number] for number in chosen], rows=rows)

    def _parts(self, size: int) -> list["FittedTable"]:
        """Tables of at most so many columns each."""
        numbers = range(len(self.columns))
        return [self._only(numbers[begin : begin + size]) for begin in numbers[::size]]

    def _headed(self) -> Iterator[tuple[str, "FittedTable"]]:
        """Tables of rows that differ in their last name only, without empty columns, and what their other names are."""
        others = len(self.names) - 1
        for heading, rows in groupby(self.rows, key=lambda row: ", ".join(str(cell) for cell in row[:others])):
            block = replace(self, names=self.names[others:], rows=[row[others:] for row in rows])
            yield heading, block._only([number for number in range(len(self.columns)) if block._has(number)])

    def _has(self, number: int) -> bool:
        """Whether any row has something in a column."""
        return any(str(row[len(self.names) + number]) for row in self.rows)

    def _table(self, gap: int) -> Table:
        table = Table(box=box.SIMPLE_HEAD, padding=(0, gap // 2))
        for name in [*self.names, *self.columns]:
            table.add_column(name, justify="left" if name in self.left else "right", no_wrap=True)
        for row in self.rows:
            table.add_row(*row)
        return table

    def _turned(self, row: Sequence[str | Text]) -> Iterator[Text]:
        """One row as lines: what it is, and below that each of its other cells."""
        *others, last = (str(cell) for cell in row[: len(self.names)])
        yield from _heading(", ".join([*others, f"{self.names[-1]} {last}"]) if others else last)
        room = max(map(cell_len, self.columns))
        for name, cell in zip(self.columns, row[len(self.names) :], strict=True):
            if str(cell):
                yield Text.assemble("  ", name.ljust(room), "  ", cell)


def _block(heading: str, parts: Sequence[FittedTable], gap: int) -> list[Table | Text]:
    return [*_heading(heading), *(part._table(gap) for part in parts)]


def height_of(parts: Sequence[Table | Text]) -> int:
    """How many lines of a screen these take, or a few more."""
    return sum(part.row_count + 4 if isinstance(part, Table) else 1 for part in parts)


def _heading(text: str) -> list[Text]:
    return [Text(text, "bold")] if text else []


def _width(cell: str | Text) -> int:
    return cell_len(str(cell))
