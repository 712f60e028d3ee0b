"""What is forgotten: the paper's five storage strategies, one of ours, and the interface for your own."""

import difflib
from dataclasses import fields

from engram.errors import InvalidInputError
from engram.memory.strategies.base import Neighbourhood, Numbers, Strategy, Touch, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, append, blend, discard, replace
from engram.memory.strategies.dkm import DynamicKMeans
from engram.memory.strategies.fading import FadingKMeans
from engram.memory.strategies.kmeans import KMeans
from engram.memory.strategies.lru import LeastRecentlyUsed
from engram.memory.strategies.rew import MaximiseRewards
from engram.memory.strategies.sur import MaximiseSurprise

STRATEGIES: dict[str, type[CompiledStrategy]] = {
    strategy.name: strategy
    for strategy in (LeastRecentlyUsed, MaximiseRewards, MaximiseSurprise, KMeans, DynamicKMeans, FadingKMeans)
}

ALIASES = {"km": "kmeans"}  # the paper's kM

__all__ = [
    "STRATEGIES",
    "CompiledStrategy",
    "Decision",
    "DynamicKMeans",
    "FadingKMeans",
    "KMeans",
    "LeastRecentlyUsed",
    "MaximiseRewards",
    "MaximiseSurprise",
    "Neighbourhood",
    "Numbers",
    "Strategy",
    "Touch",
    "Write",
    "append",
    "blend",
    "discard",
    "get_strategy",
    "replace",
]


def get_strategy(spec: str | Strategy) -> Strategy:
    """A strategy from its name, with options after a colon (`"dkm:decay=0.3"`), or from an instance."""
    if isinstance(spec, Strategy):
        return spec
    if not isinstance(spec, str):
        raise InvalidInputError(
            f"strategy must be a name or a Strategy instance, got {spec!r}; "
            f"names: {', '.join(STRATEGIES)}; your own: pass an instance, strategy=MyStrategy()"
        )
    name, _, options = spec.partition(":")
    name = ALIASES.get(name.lower(), name)
    if name not in STRATEGIES:
        close = difflib.get_close_matches(name.lower(), STRATEGIES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InvalidInputError(
            f"unknown strategy {name!r}; {hint}names: {', '.join(STRATEGIES)}; "
            "your own: pass an instance, strategy=MyStrategy()"
        )
    known = [field.name for field in fields(STRATEGIES[name])]  # type: ignore[arg-type]
    settings = {}
    for option in filter(None, options.split(",")):
        key, _, text = option.partition("=")
        try:
            settings[key] = float(text)
        except ValueError:
            raise InvalidInputError(f"{spec!r}: expected {key}=NUMBER, got {option!r}") from None
        if key not in known:
            raise InvalidInputError(f"{spec!r}: {name} has no option {key!r}; it has: {', '.join(known) or 'none'}")
    return STRATEGIES[name](**settings)
