"""Loading whatever agent a file holds."""

from pathlib import Path

from engram.agents import BUILT_IN, Agent, find_agent
from engram.envs import EnvLike
from engram.errors import ModelFileError
from engram.files.arrays import read_model
from engram.memory.strategies import Strategy


def load(path: str | Path, env: EnvLike | None = None, *, strategy: Strategy | None = None) -> Agent:
    """An agent from a file that `save` wrote; see `Agent.load`."""
    name = read_model(Path(path)).agent
    if name not in BUILT_IN:
        raise ModelFileError(f"{path} holds an agent {name!r}, which this Engram does not know; upgrade it")
    return find_agent(name).load(path, env, strategy=strategy)
