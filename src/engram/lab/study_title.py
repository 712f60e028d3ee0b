"""A title for a study that has none of its own: what was run, in a line."""

from collections.abc import Iterable, Mapping
from typing import Any

from engram.agents import label_of
from engram.lab.cell import Cell
from engram.lab.labels import strategy_label

MOST_NAMED = 4  # of a kind; more are counted


def title_of(places: Iterable[Mapping[str, Any]]) -> str:
    """The agents, environments, strategies, sizes and variants of a study, given its runs' lines in `study.json`."""
    found = list(places)
    cells = [Cell.of(place) for place in found]
    strategies = _listed([strategy_label(cell.strategy) for cell in cells if cell.strategy is not None], "strategies")
    sizes = _listed([f"{cell.capacity:,}" for cell in cells if cell.capacity is not None], "sizes")
    variants = _listed([place["variant"] for place in found if place.get("variant")], "variants")
    parts = [
        _listed([label_of(cell.agent) for cell in cells], "agents"),
        f"in {_listed([cell.env for cell in cells], 'environments')}",
        *([f"with {strategies}"] if strategies else []),
        *([f"at {sizes} entries per action"] if sizes else []),
        *([f"({variants})"] if variants else []),
    ]
    return " ".join(parts)


def _listed(names: list[str], word: str) -> str:
    """Names, each once, as they are listed in a sentence; how many where they are many."""
    several = list(dict.fromkeys(names))
    if len(several) > MOST_NAMED:
        return f"{len(several)} {word}"
    *first, last = several or [""]
    return f"{', '.join(first)} and {last}" if first else last
