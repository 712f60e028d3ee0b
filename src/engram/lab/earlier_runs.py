"""Runs in a study's folder that are not of the study as it is now: its file, its options or a class was changed.

They stay where they are, with a mark in `study.json`. A report says which they are, and leaves out those in whose cells
there are runs of the study as it is now, or of a later version of it.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from engram.lab.places import MARK, Place, cell_of, settings_of


@dataclass(frozen=True)
class Earlier:
    """The ids of the runs that have the mark."""

    replaced: tuple[str, ...] = ()  # in whose cells there are others now
    kept: tuple[str, ...] = ()  # all others

    @classmethod
    def among(cls, runs: Mapping[str, Place]) -> Self:
        """Those among a study's runs."""
        current = {cell_of(place) for place in runs.values() if MARK not in place}
        latest = {cell_of(place): settings_of(place) for place in runs.values() if MARK in place}
        marked = {
            run_id: cell_of(place) in current or settings_of(place) != latest[cell_of(place)]
            for run_id, place in runs.items()
            if MARK in place
        }
        return cls(
            tuple(run_id for run_id, replaced in marked.items() if replaced),
            tuple(run_id for run_id, replaced in marked.items() if not replaced),
        )


def mark_earlier(there: Mapping[str, Place], chosen: Mapping[str, Place], also: Iterable[Place]) -> dict[str, Place]:
    """The runs that a folder has, and those that are chosen now, with marks.

    A run that is not chosen gets one if its cell is chosen with other settings, or if nothing like it is among `also`,
    the runs of the whole study. Runs that differ in their seed only are alike. One that loses its mark goes to the end:
    of several versions in a cell, the last is the one that was of the study last.
    """
    cells = {cell_of(place) for place in chosen.values()}
    ours = {settings_of(place) for place in chosen.values()}
    standing = _standing(there, ours | {settings_of(place) for place in also})
    every: dict[str, Place] = {}
    for run_id, place in {**there, **chosen}.items():
        plain, cell = {name: value for name, value in place.items() if name != MARK}, cell_of(place)
        alike = settings_of(place) in (ours if cell in cells else standing.get(cell, ()))
        every[run_id] = plain if alike else {**plain, MARK: True}
    return dict(sorted(every.items(), key=lambda item: MARK in there.get(item[0], {}) and MARK not in item[1]))


def _standing(there: Mapping[str, Place], known: Collection[str]) -> dict[Any, set[str]]:
    """For each cell, which of the known settings its runs have: those without a mark, or else the last."""
    marked, others = dict[Any, set[str]](), dict[Any, set[str]]()
    for place in there.values():
        cell, settings = cell_of(place), settings_of(place)
        if settings in known:
            if MARK in place:
                marked[cell] = {settings}
            else:
                others.setdefault(cell, set()).add(settings)
    return marked | others
