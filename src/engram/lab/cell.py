"""Cells of a study's tables, and the names of strategies in stored results."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from engram.memory.strategies import STRATEGIES


class Cell(NamedTuple):
    """Runs that differ in nothing but their seed."""

    env: str
    agent: str  # its name: mfec, …
    strategy: str | None  # its name and options: dkm:decay=0.3; None for an agent without a memory
    capacity: int | None  # entries per action; None for an agent without a memory

    @classmethod
    def of(cls, place: Mapping[str, Any]) -> Self:
        """The cell of a run, given its line in `study.json` or its row in the table of evaluations."""
        strategy = place["strategy"]
        name = strategy_name(strategy) if isinstance(strategy, Mapping) else strategy
        return cls(place["env"], place["agent"], name, place["capacity"])

    def with_seed(self, seed: int) -> str:
        """The cell and a seed, as errors name them."""
        return ", ".join(str(part) for part in (*self, f"seed {seed}") if part is not None)


def strategy_name(described: Mapping[str, Any]) -> str:
    """A strategy's name in stored results, from its description: `dkm:decay=0.3`.

    Options of a built-in strategy at their defaults are left out. The defaults of a user's own are not known without
    importing it, so all its options are named. One that is called like a built-in one has a digest of its source too.
    """
    name, source = described["name"], described.get("source")
    known = name in STRATEGIES.built_in
    usual = STRATEGIES.built_in[name]().options if known and source is None else {}
    options = {key: value for key, value in described.items() if key not in ("name", "source")}
    chosen = [f"{key}={_text(value)}" for key, value in options.items() if key not in usual or usual[key] != value]
    head = f"{name}@{source}" if known and source is not None else name
    return f"{head}:{','.join(chosen)}" if chosen else str(head)


def _text(value: object) -> str:
    """A value as one would type it; floats in their shortest form that reads back the same."""
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    return "none" if value is None else str(value)
