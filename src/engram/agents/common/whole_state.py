"""The state of a whole agent: everything that it must remember as one dict, and back."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from engram.agents.common.saved import check_part, load_part, part_state
from engram.parts import Part

ALWAYS = ("loop", "policy_rng")  # attributes whose state is saved of every agent
OPTIONAL = ("encoder", "exploration", "wrappers", "tally")  # attributes whose state is saved where there is any


def check_can_be_saved(agent: Any) -> None:
    """Raise InvalidInputError for a part of the user's own whose state a file cannot hold: now, not after hours."""
    strategy = agent.memory.strategy if agent.has_memory else None
    for part in (getattr(agent, "encoder", None), agent.exploration, strategy):
        if isinstance(part, Part):
            part_state(part)


def whole_state(agent: Any, state_of: Callable[[Any], Any]) -> dict[str, Any]:
    """What has to be saved of an agent; `state_of` gives what has to be of one of its attributes."""
    agent.settle_tally()
    state = {name: state_of(getattr(agent, name)) for name in (*ALWAYS, *agent.saved)}
    optional = {name: deepcopy(part_state(getattr(agent, name, None))) for name in OPTIONAL}
    return state | {name: content for name, content in optional.items() if content}


def load_whole_state(agent: Any, state: dict[str, Any]) -> None:
    """Load what `whole_state` gave into an agent of the same kind, if it fits together."""
    agent.tally.load_state_dict(state.get("tally", {}), agent.spaces.actions)
    for name in ("encoder", "exploration"):
        part = getattr(agent, name, None)
        if state.get(name) or part_state(part):
            load_part(part, deepcopy(state.get(name, {})))
    for name in (*agent.saved, *ALWAYS):
        load_part(getattr(agent, name), state.get(name, {}))
    agent.wrappers.load_state_dict(state.get("wrappers", {}))
    agent.world.mistrust()
    agent.check_valid()


def check_whole(agent: Any) -> None:
    """Raise InvalidInputError, saying what is wrong, unless all that an agent must remember fits together."""
    agent.loop.check_valid(agent.spaces)
    for name in agent.saved:
        check_part(getattr(agent, name))
    agent.check_parts()
