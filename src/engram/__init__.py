"""Episodic control: reinforcement learning that acts by looking up similar past states in a small memory."""

from typing import TYPE_CHECKING, Any

from engram.agents import BUILT_IN, MFEC, find_agent
from engram.agents.load import load
from engram.memory import EpisodicMemory
from engram.training.evaluation import evaluate_policy

if TYPE_CHECKING:
    from engram.agents.d3qn import D3QN
    from engram.agents.nec import NEC

__version__ = "0.1.0"

__all__ = ["D3QN", "MFEC", "NEC", "EpisodicMemory", "evaluate_policy", "load"]


def __getattr__(name: str) -> Any:
    """NEC and D3QN, when they are asked for: they need PyTorch, and nothing else here does."""
    if name in BUILT_IN.values():
        return find_agent(name.lower())
    raise AttributeError(f"module 'engram' has no attribute {name!r}")
