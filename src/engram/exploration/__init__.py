"""Exploration: which action to take while learning. Each file beside `base.py` and `greedy.py` is a built-in one."""

from engram.exploration.base import Exploration, View
from engram.parts import Family

EXPLORATIONS: Family[Exploration] = Family(
    "exploration", Exploration, __name__, aliases={"epsilon": "epsilon-greedy", "e-greedy": "epsilon-greedy"}
)

__all__ = ["EXPLORATIONS", "Exploration", "View"]
