"""Loading whatever agent a file holds."""

from pathlib import Path

from engram.agents import AGENTS, Agent
from engram.envs import EnvLike
from engram.errors import ModelFileError
from engram.memory.strategies import Strategy
from engram.training.files import read_model


def load(path: str | Path, env: EnvLike | None = None, *, strategy: Strategy | None = None) -> Agent:
    """An agent from a file that `save` wrote; see `Agent.load`."""
    agent = read_model(Path(path)).agent
    if agent not in AGENTS:
        raise ModelFileError(f"{path} holds an agent {agent!r}, which this Engram does not know; upgrade it")
    return AGENTS[agent].load(path, env, strategy=strategy)
