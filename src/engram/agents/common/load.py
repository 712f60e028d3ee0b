"""Loading whatever agent a file holds."""

from pathlib import Path
from typing import Any

from engram.agents import BUILT_IN, Agent, find_agent
from engram.agents.common.model_file import find_model, read_model
from engram.envs import EnvLike
from engram.errors import ModelFileError


def load(
    path: str | Path,
    env: EnvLike | None = None,
    *,
    agent: str | type[Agent] | None = None,
    for_prediction: bool = False,
    **parts: Any,
) -> Agent:
    """An agent from a run's folder or from a file that `save` wrote, as `Agent.load`.

    With `for_prediction` no environment is made. An agent of your own has to be given: `agent=MyAgent`.
    """
    if agent is not None:
        return find_agent(agent).load(path, env, for_prediction=for_prediction, **parts)
    name = read_model(find_model(path)).agent
    if name not in BUILT_IN:
        raise ModelFileError(
            f"{path} holds the agent {name!r}, which is not part of this Engram; if it is your own, give it: in Python "
            f"load(path, agent={name}), on the command line --agent module:{name}"
        )
    return find_agent(name).load(path, env, for_prediction=for_prediction, **parts)
