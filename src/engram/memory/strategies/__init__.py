"""Storage strategies, which decide what is forgotten: the paper's five, two of ours, and base classes for your own."""

from typing import Any

from engram.memory.strategies.adaptive import Adaptive
from engram.memory.strategies.base import Kept, Neighbourhood, Numbers, Strategy, Touch, Write
from engram.memory.strategies.compiled import CompiledStrategy
from engram.memory.strategies.decisions import Decision, append, blend, discard, replace, update
from engram.memory.strategies.dkm import DynamicKMeans
from engram.memory.strategies.fading import FadingKMeans
from engram.memory.strategies.kmeans import KMeans
from engram.memory.strategies.lru import LeastRecentlyUsed
from engram.memory.strategies.rew import MaximiseRewards
from engram.memory.strategies.sur import MaximiseSurprise
from engram.parts import Family

STRATEGIES: Family[Strategy] = Family("strategy", Strategy, __name__, aliases={"km": "kmeans"})  # the paper's kM

__all__ = [
    "STRATEGIES",
    "Adaptive",
    "CompiledStrategy",
    "Decision",
    "DynamicKMeans",
    "FadingKMeans",
    "KMeans",
    "Kept",
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
    "update",
]


def get_strategy(spec: Any) -> Strategy:
    """A strategy from an instance, from its name with options (`"dkm:decay=0.3"`), or from `module:Class`."""
    return STRATEGIES.find(spec)
