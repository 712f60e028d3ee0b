"""The agents: one algorithm, one file."""

from engram.agents.base import Agent
from engram.agents.mfec import MFEC

AGENTS: dict[str, type[Agent]] = {agent.name: agent for agent in (MFEC,)}

__all__ = ["AGENTS", "MFEC", "Agent"]
