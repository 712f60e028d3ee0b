"""The agent of a run that is not finished, to be looked at: nothing in the folder is changed."""

from collections.abc import Mapping
from typing import Any

from engram.agents import Agent
from engram.agents.common.model_file import MALFORMED
from engram.errors import EngramError
from engram.runs.folder import RunFolder


def newest_agent(folder: RunFolder, given: Mapping[str, Any]) -> Agent | None:
    """The agent as the newest checkpoint that can be used has it; None where there is none.

    What the run was made with that is not Engram's own has to be given.
    """
    run = folder.run(given)
    checkpoints = folder.checkpoints(run)
    for path in reversed(checkpoints.paths()):
        agent = run.make_agent()
        try:
            agent.load_state_dict(checkpoints.load(path).state)
        except (EngramError, *MALFORMED):
            continue
        return agent
    return None
