"""Loading whatever agent a file holds."""

from pathlib import Path
from typing import Any

from engram.agents import BUILT_IN, Agent, find_agent
from engram.agents.common.model_file import as_path, read_model
from engram.envs import EnvLike
from engram.errors import ModelFileError


def load(
    path: str | Path, env: EnvLike | None = None, *, agent: str | type[Agent] | None = None, **parts: Any
) -> Agent:
    """An agent from a file that `save` wrote, as `Agent.load`; one of your own has to be given: `agent=MyAgent`."""
    if agent is not None:
        return find_agent(agent).load(path, env, **parts)
    name = read_model(as_path(path)).agent
    if name not in BUILT_IN:
        raise ModelFileError(
            f"{path} holds the agent {name!r}, which is not part of this Engram; if it is your own, give it: in Python "
            f"load(path, agent={name}), on the command line --agent module:{name}"
        )
    return find_agent(name).load(path, env, **parts)
