"""The stored rows of a growing sequence, marked so that checkpoints write each row once."""

from typing import NamedTuple

from engram.typing import Array


class Rows(NamedTuple):
    """The last rows of a growing sequence: number end − len(array) to end − 1. Rows never change once added."""

    end: int
    array: Array
