"""Lines of `study.json`, one for each run: where a run stands in the tables of a report, and what decides it."""

import json
from collections.abc import Mapping
from typing import Any

from engram.lab.cell import Cell

MARK = "earlier"  # in the line of a run that is not of the study as it is now
Place = Mapping[str, Any]  # such a line


def cell_of(place: Place) -> tuple[Cell, str]:
    """Where a run stands but for its seed: its cell, and what differs from the rest of the study."""
    return Cell.of(place), place.get("variant", "")


def settings_of(place: Place) -> str:
    """All that decides a run but its seed."""
    return json.dumps(
        {name: each for name, each in place.items() if name not in ("seed", "variant", MARK)}, sort_keys=True
    )


def twins(runs: Mapping[str, Place]) -> tuple[str, str] | None:
    """The ids of two runs that stand in one place, if there are such: a table has room for one of them."""
    first: dict[Any, str] = {}
    for run_id, place in runs.items():
        there = first.setdefault((cell_of(place), place["seed"]), run_id)
        if there != run_id:
            return there, run_id
    return None


def place_in_words(place: Place) -> str:
    """Where a run stands: its cell, its seed, and what differs from the rest of the study."""
    cell, variant = cell_of(place)
    return cell.with_seed(place["seed"]) + (f", {variant}" if variant else "")
