"""Scores published elsewhere, which a report shows beside those of a study's own runs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from engram.lab.cell import Cell


class Score(NamedTuple):
    """A published score; a standard deviation of 0 where none is given, as every seed scored the same."""

    mean: float
    std: float
    seeds: int
    steps: int  # of training in each run


@dataclass(frozen=True)
class Reference:
    """One source of published scores. A study's marks compare its own scores with its first reference."""

    key: str  # in the columns of scores.csv: paper
    name: str  # in sentences: the paper
    scores: Mapping[Cell, Score]
    prefix: str = ""  # before its numbers in tables


def merge_references(*groups: tuple[Reference, ...]) -> tuple[Reference, ...]:
    """The references of several studies; those of one source are one."""
    found: dict[str, Reference] = {}
    for reference in (each for group in groups for each in group):
        known = found.setdefault(reference.key, reference)
        found[reference.key] = replace(known, scores={**known.scores, **reference.scores})
    return tuple(found.values())
