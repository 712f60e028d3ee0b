"""Episodic memory: tables of keys and values, read by similarity."""

from engram.memory.memory import EpisodicMemory

__all__ = ["EpisodicMemory"]
