"""Episodic control: reinforcement learning that acts by looking up similar past states in a small memory."""

from engram.memory import EpisodicMemory

__version__ = "0.1.0"

__all__ = ["EpisodicMemory"]
