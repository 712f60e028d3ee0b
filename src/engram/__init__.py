"""Episodic control: reinforcement learning that acts by looking up similar past states in a small memory."""

from engram.agents import MFEC
from engram.agents.load import load
from engram.memory import EpisodicMemory
from engram.training.evaluation import evaluate_policy

__version__ = "0.1.0"

__all__ = ["MFEC", "EpisodicMemory", "evaluate_policy", "load"]
