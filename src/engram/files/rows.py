"""Rows of a sequence that only grows, of which the oldest are forgotten."""

from typing import NamedTuple

from engram.typing import Array


class Rows(NamedTuple):
    """Rows number end − len(array) … end − 1. A checkpoint writes each of them to disk once."""

    end: int
    array: Array
