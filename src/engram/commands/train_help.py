"""What `engram train --help` prints: the agents, and the options that all of them have."""

from collections.abc import Mapping
from dataclasses import replace

from engram.agents import BUILT_IN, find_agent
from engram.commands.help_page import Option, agent_lines, help_page
from engram.commands.options import options_of
from engram.commands.training_options import GROUPS, options_for

USAGE = ("engram train AGENT [OPTIONS]", "engram train --resume FOLDER [OPTIONS]")
ABOUT = (
    "Train an agent and write everything about the run to a folder; or go on with a run, from where it was interrupted "
    "or to more steps.\n\nBelow are the options that all agents have. Each has more of its own: engram train mfec "
    "--help. Those of going on: engram train --resume --help."
)
EXAMPLE = "engram train mfec --env CartPole-v1 --capacity 50 --out runs/first"


def train_page() -> str:
    """The whole page."""
    agents = {**agent_lines(), "module:Class": "an agent of your own"}
    common = common_options(
        {name: {each.field: each for each in options_of(*options_for(find_agent(name)))} for name in BUILT_IN}
    )
    return help_page(USAGE, ABOUT, common, GROUPS, lists={"agents": agents, "to begin with": {EXAMPLE: ""}})


def common_options(by_agent: Mapping[str, Mapping[str, Option]]) -> list[Option]:
    """The options that all agents have, with their defaults where these are the same."""
    first, *others = by_agent.values()
    shared = [field for field in first if all(field in each for each in others)]
    same = [len({each[field].default for each in by_agent.values()}) == 1 for field in shared]
    return [
        first[field] if alike else replace(first[field], default="depends on the agent")
        for field, alike in zip(shared, same, strict=True)
    ]
