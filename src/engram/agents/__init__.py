"""The agents: one algorithm, one file. Those that learn with networks are imported when they are asked for."""

from importlib import import_module
from typing import cast

from engram import checks
from engram.agents.base import Agent
from engram.agents.mfec import MFEC

NAMES = {"mfec": "MFEC", "nec": "NEC", "d3qn": "D3QN"}

__all__ = ["MFEC", "NAMES", "Agent", "get_agent"]


def get_agent(name: str) -> type[Agent]:
    """The agent of that name; NEC and D3QN need the `torch` extra."""
    checks.one_of("agent", name, NAMES)
    return cast(type[Agent], getattr(import_module(f"engram.agents.{name}"), NAMES[name]))
