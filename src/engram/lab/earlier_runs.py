"""Runs in a study's folder that are not of the study as it is now: its file was changed, or its options were others.

They stay where they are, with a mark in `study.json`. A report says which they are, and leaves out those in whose cells
there are runs of the study as it is now.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from engram.lab.cell import Cell

MARK = "earlier"  # in a run's line of study.json
Place = Mapping[str, Any]  # such a line


@dataclass(frozen=True)
class Earlier:
    """The ids of the runs that have the mark."""

    replaced: tuple[str, ...] = ()  # in whose cells there are others now
    kept: tuple[str, ...] = ()  # all others

    @classmethod
    def among(cls, runs: Mapping[str, Place]) -> Self:
        """Those among a study's runs."""
        current = {_cell(place) for place in runs.values() if MARK not in place}
        marked = {run_id: _cell(place) in current for run_id, place in runs.items() if MARK in place}
        return cls(
            tuple(run_id for run_id, replaced in marked.items() if replaced),
            tuple(run_id for run_id, replaced in marked.items() if not replaced),
        )


def mark_earlier(there: Mapping[str, Place], chosen: Mapping[str, Place], also: Iterable[Place]) -> dict[str, Place]:
    """The runs that a folder has, and those that are chosen now, with marks.

    A run that is not chosen gets one if its cell is chosen with other settings, or if nothing like it is among `also`,
    the runs of the whole study. Runs that differ in their seed only are alike.
    """
    cells, ours = ({each(place) for place in chosen.values()} for each in (_cell, _settings))
    known = ours | {_settings(place) for place in also}
    every: dict[str, Place] = {}
    for run_id, place in {**there, **chosen}.items():
        plain = {name: value for name, value in place.items() if name != MARK}
        alike = _settings(plain) in (ours if _cell(plain) in cells else known)
        every[run_id] = plain if alike else {**plain, MARK: True}
    return every


def _cell(place: Place) -> tuple[Cell, str]:
    """Where a run stands in the tables of a report."""
    return Cell.of(place), place.get("variant", "")


def _settings(place: Place) -> str:
    """All that decides a run but its seed."""
    return json.dumps({name: value for name, value in place.items() if name not in ("seed", "variant")}, sort_keys=True)
