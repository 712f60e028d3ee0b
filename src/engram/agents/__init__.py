"""The agents: one algorithm, one file. Those that learn with networks are imported when they are asked for."""

from importlib import import_module
from typing import Any, cast

from engram import checks
from engram.agents.base import Agent
from engram.agents.mfec import MFEC
from engram.errors import InvalidInputError
from engram.parts import import_class

BUILT_IN = {"mfec": "MFEC", "nec": "NEC", "d3qn": "D3QN"}  # name → class, in the file of that name

__all__ = ["BUILT_IN", "MFEC", "Agent", "find_agent", "label_of"]


def find_agent(spec: str | type[Agent]) -> type[Agent]:
    """The class of an agent, from a built-in name, from `module:Class`, or from itself."""
    if isinstance(spec, type) and issubclass(spec, Agent):
        return spec
    if not isinstance(spec, str):
        raise InvalidInputError(f"agent must be a name, module:Class or a subclass of Agent, got {spec!r}")
    module, colon, name = spec.partition(":")
    if colon:
        base: Any = Agent
        return cast(type[Agent], import_class(module, name, base, spec))
    checks.one_of("agent", spec, BUILT_IN)
    return cast(type[Agent], getattr(import_module(f"engram.agents.{spec}"), BUILT_IN[spec]))


def label_of(name: str) -> str:
    """What tables and figures call the agent of this name."""
    return BUILT_IN.get(name, name)
